"""Fetch the facts of a run together with those of the runs that it has dispatched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, Self

from kova_auto.app.control import Answers, Placed
from kova_auto.core.errors import UnknownRunError
from kova_auto.core.event import Event
from kova_auto.core.ids import RunId
from kova_auto.core.run import RunState, fold


@dataclass(frozen=True, slots=True)
class Kin:
    """Hold the facts of a run, and of its subagents.

    Attributes:
        facts: Oldest first.
        children: The subagents that were opened, oldest first, each with its own.
    """

    facts: tuple[Placed, ...]
    state: RunState
    children: tuple[Kin, ...] = ()
    events: Sequence[Event] = field(default=())

    @property
    def others(self) -> dict[RunId, Sequence[Event]]:
        """Return the facts of its subagents and theirs, by run."""
        return facts_beneath(self)

    @property
    def descendants(self) -> tuple[RunState, ...]:
        """Return its subagents and theirs."""
        return tuple(state for child in self.children for state in (child.state, *child.descendants))


class Parent(Protocol):
    """Be a run with its facts, and with its subagents."""

    @property
    def state(self) -> RunState:
        """Return what its facts add up to."""

    @property
    def events(self) -> Sequence[Event]:
        """Return its facts, oldest first."""

    @property
    def children(self) -> Sequence[Self]:
        """Return its subagents, oldest first."""


def facts_beneath(parent: Parent) -> dict[RunId, Sequence[Event]]:
    """Return the facts of a run's subagents and theirs, by run."""
    found: dict[RunId, Sequence[Event]] = {}
    for child in parent.children:
        found |= {child.state.run_id: child.events, **facts_beneath(child)}
    return found


async def kin_of(answers: Answers, run_id: RunId) -> Kin:
    """Fetch the facts of a run and of its family.

    Raises:
        UnknownRunError: There is no such run.
    """
    facts = await answers.events(run_id, 0, 0)
    if not facts:
        message = f"there is no run {run_id}"
        raise UnknownRunError(message)
    events = [placed.event for placed in facts]
    state = fold(events)
    children = [await _child(answers, child.run_id) for child in state.children.values()]
    return Kin(facts, state, tuple(child for child in children if child), events)


async def _child(answers: Answers, run_id: RunId) -> Kin | None:
    """Return a subagent; None where its call has begun and it has not been opened."""
    try:
        return await kin_of(answers, run_id)
    except UnknownRunError:
        return None
