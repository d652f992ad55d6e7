"""Follow a run together with those that it dispatches: take their facts in, in the order in which they happened."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kova_auto.core.errors import UnknownRunError
from kova_auto.core.event import CallFinished
from kova_auto.core.ids import RunId

if TYPE_CHECKING:
    from datetime import datetime

    from kova_auto.app.control import Answers, Placed
    from kova_auto.cli.account import Account
    from kova_auto.core.call_state import CallState
    from kova_auto.core.event import Event
    from kova_auto.core.run import RunState

Batch = tuple["Account", Sequence["Placed"]]


@dataclass
class Following:
    """Hold the account of one run, and those of its subagents as far as they have begun."""

    own: Account
    others: dict[RunId, Account] = field(default_factory=dict)

    async def take(self, answers: Answers, facts: Sequence[Placed], *, is_shown: bool = True) -> None:
        """Take in further facts of the run, and what has happened to its subagents up to those."""
        for account, placed in in_order([(self.own, facts), *await self._of(answers, self.own, facts)]):
            account.take((placed,), is_shown=is_shown)

    async def _of(self, answers: Answers, parent: Account, facts: Sequence[Placed]) -> list[Batch]:
        batches: list[Batch] = []
        for run_id in _children(parent, facts):
            child = self.others.setdefault(run_id, parent.beneath())
            if child.has_begun and child.state.finished:
                continue
            with suppress(UnknownRunError):  # Its call has begun, and it has not been opened yet.
                found = await answers.events(run_id, child.seq, 0)
                batches += [(child, found), *await self._of(answers, child, found)]
        return batches

    @property
    def at_work(self) -> bool:
        """Say whether a subagent has not finished."""
        return any(not state.finished for state in self.children)

    @property
    def children(self) -> list[RunState]:
        """Return the subagents that have begun, oldest first."""
        return [account.state for account in self.others.values() if account.has_begun]

    @property
    def facts(self) -> list[list[Event]]:
        """Return the facts of each subagent that has begun."""
        return [account.events for account in self.others.values() if account.has_begun]

    @property
    def family(self) -> list[RunState]:
        """Return the run and its subagents."""
        return [self.own.state, *self.children]

    @property
    def pending(self) -> list[tuple[RunState, CallState]]:
        """Return the calls that wait for a person, the run's own first, each with the run that makes it."""
        left = (state for state in self.family if not state.finished)
        return [(state, call) for state in left for call in state.pending]


def _children(parent: Account, facts: Sequence[Placed]) -> list[RunId]:
    """Return what a run has dispatched, oldest first: by what is known of it, or by its newest facts."""
    known = [child.run_id for child in parent.state.children.values()] if parent.has_begun else []
    results = (placed.event.result for placed in facts if isinstance(placed.event, CallFinished))
    return list(dict.fromkeys([*known, *(RunId(result.child) for result in results if result.child)]))


def in_order(batches: Sequence[Batch]) -> Iterator[tuple[Account, Placed]]:
    """Yield facts of several runs as they happened; each run's keep their order, whatever the clock was set to.

    What happened at the same moment comes child first: its end is written together with what tells its parent.
    """
    keyed: list[tuple[datetime, int, int, Account, Placed]] = []
    for number, (account, facts) in enumerate(batches):
        latest: datetime | None = None
        for placed in facts:
            latest = max(latest or placed.event.at, placed.event.at)
            keyed.append((latest, -account.depth, number, account, placed))
    for *_, account, placed in sorted(keyed, key=lambda one: one[:3]):
        yield account, placed
