"""Fetch the facts of a run together with those of the runs that it has dispatched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

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
        found: dict[RunId, Sequence[Event]] = {}
        for child in self.children:
            found |= {child.state.run_id: child.events, **child.others}
        return found

    @property
    def descendants(self) -> tuple[RunState, ...]:
        """Return its subagents and theirs."""
        return tuple(state for child in self.children for state in (child.state, *child.descendants))


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
