"""Decide what becomes of the instants that fell due: which run, and why the others do not.

Every instant gets its row; a stretch of them may share one, with its count.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from kova_auto.core.job import Policy
from kova_auto.core.ledger import OccurrenceStatus
from kova_auto.core.schedule.triggers import AtTrigger, Backlog, Trigger, latest_fire, next_fire, occurrences

PUNCTUAL = timedelta(seconds=60)
WINDOW = timedelta(hours=24)
WINDOW_AT = timedelta(hours=1)
SET_BACK = timedelta(hours=3)
"""A clock that is further behind the cursor had been wrong when the cursor was moved."""
_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Due:
    """Hold what becomes of one instant, or of a stretch of them from `nominal_at` to `until_at`."""

    nominal_at: datetime
    status: OccurrenceStatus
    why: str = ""
    until_at: datetime | None = None
    count: int = 1

    @property
    def runs(self) -> bool:
        """Say whether it opens a run."""
        return self.status is OccurrenceStatus.RAN

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
        return any(item.runs and now - item.nominal_at > _grace(policy) for item in self.due)

    def skipped(self, why: str) -> Plan:
        """Return the same with no run at all: one row for the whole stretch."""
        if not self.due:
            return self
        first, last, count = self.due[0], self.due[-1], sum(item.count for item in self.due)
        until = (last.until_at or last.nominal_at) if count > 1 else None
        return replace(self, due=(replace(first.skipped(why), until_at=until, count=count),))


def is_due(trigger: Trigger, cursor: datetime, now: datetime) -> bool:
    """Say whether a plan would move the cursor."""
    soonest = next_fire(trigger, cursor)
    return (soonest is not None and soonest <= now) or cursor - now > SET_BACK


def plan(trigger: Trigger, cursor: datetime, now: datetime, policy: Policy, *, running: int, busy: str = "") -> Plan:
    """Return what becomes of the instants from `cursor`, excluded, to `now`, included.

    Args:
        trigger: What implies the instants.
        cursor: Last instant that has its row, UTC.
        now: UTC. Where the clock was set back behind the cursor nothing is due; where it was set back far, it had been
            wrong before, and the schedule begins anew.
        policy: Of the job: `missed`, `missed_window`, `missed_max`, `start_deadline`, `overlap`, `max_parallel`.
        running: Runs of the job that have not finished.
        busy: Who has the workspace to itself, where another job's run does; empty where it is free.

    Source: reference, "Policy model", exact meaning.
    """
    if cursor - now > SET_BACK:
        return Plan(now)
    backlog = latest_fire(trigger, cursor, now)
    if backlog.latest is None:
        return Plan(cursor)
    wanted = _wanted(trigger, cursor, backlog.latest, now, policy)
    left_out = latest_fire(trigger, cursor, wanted[0] - _TICK) if wanted else backlog
    due = [] if left_out.latest is None else [_missed(trigger, cursor, left_out, _why(policy, wanted))]
    for nominal in wanted:
        due.append(_gate(nominal, policy, running, busy))
        running += due[-1].runs
    return Plan(backlog.latest, tuple(due))


def _wanted(
    trigger: Trigger, cursor: datetime, newest: datetime, now: datetime, policy: Policy
) -> tuple[datetime, ...]:
    """Return the instants that are to run, oldest first: those that are caught up with, or a newest that is in time."""
    usual = WINDOW_AT if isinstance(trigger, AtTrigger) else WINDOW
    window = usual if policy.missed_window is None else policy.missed_window
    in_time = now - newest <= _grace(policy)
    if policy.missed == "all" and now - newest <= window:
        return _last(trigger, max(cursor, now - window - _TICK), newest, policy.missed_max)
    if in_time or (policy.missed == "latest" and now - newest <= window):
        return (newest,)
    return ()


def _grace(policy: Policy) -> timedelta:
    return PUNCTUAL if policy.start_deadline is None else policy.start_deadline


def _last(trigger: Trigger, after: datetime, newest: datetime, limit: int) -> tuple[datetime, ...]:
    """Return the newest instants up to `newest`, at most `limit`, by searching ever shorter stretches."""
    before = newest
    while _count(trigger, after, newest, cap=2 * limit + 1) > 2 * limit:
        middle = after + (before - after) / 2
        if _count(trigger, middle, newest, cap=limit) < limit:
            before = middle
        else:
            after = middle
    return tuple(occurrences(trigger, after, newest, 2 * limit))[-limit:]


def _count(trigger: Trigger, after: datetime, until: datetime, *, cap: int) -> int:
    return sum(1 for _ in occurrences(trigger, after, until, cap))


def _missed(trigger: Trigger, cursor: datetime, left_out: Backlog, why: str) -> Due:
    """Return the one row of everything that does not run: from behind the cursor to before the first that does."""
    first = next_fire(trigger, cursor) or cursor
    until = left_out.latest if left_out.total > 1 else None
    return Due(first, OccurrenceStatus.MISSED, why, until_at=until, count=left_out.total)


def _why(policy: Policy, wanted: tuple[datetime, ...]) -> str:
    if wanted:
        return "a later one runs"
    return "policy.missed = skip" if policy.missed == "skip" else "outside_window"


def _gate(nominal: datetime, policy: Policy, running: int, busy: str) -> Due:
    limit = policy.max_parallel if policy.overlap == "allow" else 1
    if running >= limit:
        return Due(nominal, OccurrenceStatus.SKIPPED, "overlap")
    if busy and policy.overlap == "skip":
        return Due(nominal, OccurrenceStatus.SKIPPED, busy)
    return Due(nominal, OccurrenceStatus.RAN)
