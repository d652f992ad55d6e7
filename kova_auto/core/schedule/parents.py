"""Decide when a job that waits for others is ready: each has ended as it was wanted, and that was not used before.

Nothing here depends on when it is asked: the ends are gone through in the order in which they came.

Source: reference on scheduling, 3.3, `after`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, assert_never

from kova_auto.core.ids import RunId
from kova_auto.core.job import Outcome
from kova_auto.core.schedule.triggers import AfterTrigger, Parent, ParentEnding

SUCCESSES: Final = frozenset({Outcome.DONE, Outcome.NOTHING_TO_REPORT})
"""Every other outcome is a failure: whoever needs what the parent was to do has not got it."""

EndKey = tuple[RunId, datetime]


@dataclass(frozen=True, slots=True)
class ParentEnd:
    """Hold that a run of a job has finished; one that is tried again by hand may finish once more.

    Attributes:
        at: UTC.
    """

    job: str
    run_id: RunId
    at: datetime
    outcome: Outcome

    @property
    def key(self) -> EndKey:
        """Return what tells it from every other."""
        return self.run_id, self.at


@dataclass(frozen=True, slots=True)
class Ready:
    """Hold one occurrence of a job that waited for others.

    Attributes:
        nominal_at: When the last of them ended, UTC.
        ends: One for each parent, in the order of the parents; they are used up by it.
        latest_at: The run must begin by then; None where there is no haste.
    """

    nominal_at: datetime
    ends: tuple[ParentEnd, ...]
    latest_at: datetime | None = None

    def is_late(self, now: datetime) -> bool:
        """Say whether the run could not begin soon enough any more."""
        return self.latest_at is not None and now > self.latest_at


def ready(trigger: AfterTrigger, ends: Iterable[ParentEnd], used: Collection[EndKey] = ()) -> tuple[Ready, ...]:
    """Return each time at which the job was ready, oldest first.

    A parent that ends again before the others have replaces its earlier end. One that ended longer ago than its
    `within` when the last of the others did counts no more: the job waits for it anew.

    Args:
        trigger: Whom the job waits for.
        ends: Of any jobs, in any order. A job that was skipped or missed has no run and hence no end.
        used: Those that brought the job an occurrence before. With several parents, an end that is older than a used
            one of the same parent is used up too.
    """
    waiting: dict[str, ParentEnd] = {}
    found: list[Ready] = []
    parents = {parent.job: parent for parent in trigger.parents}
    for end in _fresh(parents, ends, used):
        waiting[end.job] = end
        waiting = {job: waits for job, waits in waiting.items() if _is_recent(parents[job], waits, end.at)}
        if len(waiting) == len(parents):
            together = tuple(waiting[job] for job in parents)
            found.append(Ready(end.at, together, _latest(parents.values(), together)))
            waiting = {}
    return tuple(found)


def matches(parent: Parent, outcome: Outcome) -> bool:
    """Say whether a run of the parent ended as it was wanted."""
    match parent.on:
        case ParentEnding.SUCCESS:
            return outcome in SUCCESSES
        case ParentEnding.FAILURE:
            return outcome not in SUCCESSES
        case ParentEnding.ANY:
            return True
        case _:
            assert_never(parent.on)


def _fresh(parents: dict[str, Parent], ends: Iterable[ParentEnd], used: Collection[EndKey]) -> list[ParentEnd]:
    """Return the ends that count and were not used, in the order in which they came."""
    wanted = [end for end in ends if end.job in parents and matches(parents[end.job], end.outcome)]
    fresh = [end for end in wanted if end.key not in used]
    if len(parents) > 1:
        spent: dict[str, datetime] = {}
        for end in wanted:
            if end.key in used:
                spent[end.job] = max(end.at, spent.get(end.job, end.at))
        fresh = [end for end in fresh if end.job not in spent or end.at > spent[end.job]]
    return sorted(fresh, key=lambda end: (end.at, end.job, end.run_id))


def _is_recent(parent: Parent, end: ParentEnd, at: datetime) -> bool:
    return parent.within is None or at - end.at <= parent.within


def _latest(parents: Iterable[Parent], ends: Iterable[ParentEnd]) -> datetime | None:
    bounds = (end.at + parent.within for parent, end in zip(parents, ends, strict=True) if parent.within is not None)
    return min(bounds, default=None)
