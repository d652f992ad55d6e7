"""Decide what becomes of the instants that fell due: which are to run, and why the others do not.

Every instant gets its row; a stretch of them may share one, with its count. Whether what is to run can, in the presence
of other runs, is the overlap rule's business.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from kova_auto.core.job import Policy
from kova_auto.core.ledger import OccurrenceStatus
from kova_auto.core.schedule.search import TICK
from kova_auto.core.schedule.timetable import Stretch, Timetable, stretches
from kova_auto.core.schedule.triggers import AtTrigger

PUNCTUAL = timedelta(seconds=60)
WINDOW = timedelta(hours=24)
WINDOW_AT = timedelta(hours=1)
SET_BACK = timedelta(hours=3)
"""A clock that is further behind the cursor had been wrong when the cursor was moved."""
LATER = "a later one runs"
OUTSIDE = "outside_window"
SKIP = "policy.missed = skip"


@dataclass(frozen=True, slots=True)
class Due:
    """Hold what becomes of one instant, or of a stretch of them from `nominal_at` to `until_at`."""

    nominal_at: datetime
    status: OccurrenceStatus
    why: str = ""
    until_at: datetime | None = None
    count: int = 1
    due_at: datetime | None = None

    @property
    def runs(self) -> bool:
        """Say whether it opens a run."""
        return self.status is OccurrenceStatus.RAN

    @property
    def was_due_at(self) -> datetime:
        """Return when it was due."""
        return self.due_at or self.nominal_at

    def skipped(self, why: str) -> Due:
        """Return the same, with no run."""
        return replace(self, status=OccurrenceStatus.SKIPPED, why=why)


@dataclass(frozen=True, slots=True)
class Plan:
    """Hold what fell due, oldest first, and where the cursor goes."""

    cursor: datetime
    due: tuple[Due, ...] = ()

    def catches_up(self, now: datetime, policy: Policy) -> bool:
        """Say whether it opens a run that comes too late to be the usual one."""
        return any(item.runs and now - item.was_due_at > grace(policy) for item in self.due)

    def skipped(self, why: str) -> Plan:
        """Return the same with no run at all: one row for what is not excluded between two stretches that are."""
        together: list[Due] = []
        for item in self.due:
            last = together[-1] if together else None
            if item.status is OccurrenceStatus.SKIPPED:
                together.append(item)
            elif last and last.why == why:
                until = item.until_at or item.nominal_at
                together[-1] = replace(last, until_at=until, count=last.count + item.count)
            else:
                together.append(item.skipped(why))
        return replace(self, due=tuple(together))


def grace(policy: Policy) -> timedelta:
    """Return how late an instant may be and still be in time."""
    return PUNCTUAL if policy.start_deadline is None else policy.start_deadline


def plan(timetable: Timetable, cursor: datetime, now: datetime, policy: Policy) -> Plan:
    """Return what becomes of the instants from `cursor`, excluded, that are due by `now`, included.

    Args:
        timetable: What implies the instants.
        cursor: Last instant that has its row, UTC.
        now: UTC. Where the clock was set back behind the cursor nothing is due; where it was set back far, it had been
            wrong before, and the schedule begins anew.
        policy: Of the job: `missed`, `missed_window`, `missed_max`, `start_deadline`, and whether `overlap` is
            `cancel_previous`: then only the newest of what is caught up with runs.

    Source: reference on scheduling, 3.3.
    """
    if cursor - now > SET_BACK:
        return Plan(now)
    if cursor >= now:
        return Plan(cursor)
    until = timetable.due_until(cursor, now)
    if (first := timetable.next_nominal(cursor)) is None or first > until:
        return Plan(cursor)
    if (usual := _usual(timetable, first, until, now, policy)) is not None:
        return Plan(first, (usual,))
    wanted = _wanted(timetable, cursor, until, now, policy)
    due: list[Due] = []
    for nominal in wanted:
        due += _left_out(timetable, cursor, nominal - TICK, LATER)
        due.append(Due(nominal, OccurrenceStatus.RAN, due_at=timetable.due_at(nominal)))
        cursor = nominal
    why = LATER if wanted else SKIP if policy.missed == "skip" else OUTSIDE
    due += _left_out(timetable, cursor, until, why)
    return Plan((due[-1].until_at or due[-1].nominal_at) if due else cursor, tuple(due))


def _usual(timetable: Timetable, first: datetime, until: datetime, now: datetime, policy: Policy) -> Due | None:
    """Return the first instant where it is the only one, open and in time: it runs, whatever is said of misses."""
    due_at = timetable.due_at(first)
    if now - due_at > grace(policy) or timetable.why_excluded(first):
        return None
    following = timetable.next_nominal(first)
    return Due(first, OccurrenceStatus.RAN, due_at=due_at) if following is None or following > until else None


def _wanted(
    timetable: Timetable, cursor: datetime, until: datetime, now: datetime, policy: Policy
) -> tuple[datetime, ...]:
    """Return the instants that are to run, oldest first: those that are caught up with, or a newest that is in time."""
    last = timetable.newest_open(cursor, until, 1)
    if not last:
        return ()
    (newest,) = last
    usual = WINDOW_AT if isinstance(timetable.trigger, AtTrigger) else WINDOW
    window = usual if policy.missed_window is None else policy.missed_window
    if policy.missed == "all" and now - newest <= window and policy.overlap != "cancel_previous":
        return timetable.newest_open(max(cursor, now - window - TICK), newest, policy.missed_max)
    in_time = now - timetable.due_at(newest) <= grace(policy)
    return last if in_time or (policy.missed != "skip" and now - newest <= window) else ()


def _left_out(timetable: Timetable, after: datetime, until: datetime, why: str) -> list[Due]:
    """Return rows of what does not run from `after`, excluded, to `until`, included."""
    first = timetable.next_nominal(after)
    if first is None or first > until:
        return []
    return [_of_stretch(stretch, why) for stretch in stretches(timetable, after, until)]


def _of_stretch(stretch: Stretch, why: str) -> Due:
    status = OccurrenceStatus.SKIPPED if stretch.why else OccurrenceStatus.MISSED
    until = stretch.last if stretch.last > stretch.first else None
    return Due(stretch.first, status, stretch.why or why, until, stretch.count)
