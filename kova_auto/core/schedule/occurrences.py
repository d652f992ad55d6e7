"""Decide what becomes of the instants that fell due: which run, and why the others do not.

Every instant gets its row; a stretch of them may share one, with its count.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from kova_auto.core.job import Policy
from kova_auto.core.ledger import OccurrenceStatus
from kova_auto.core.schedule.triggers import AtTrigger, Trigger, latest_fire, next_fire, occurrences

PUNCTUAL = timedelta(seconds=60)
WINDOW = timedelta(hours=24)
WINDOW_AT = timedelta(hours=1)


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


@dataclass(frozen=True, slots=True)
class Plan:
    """Hold what fell due, oldest first, and where the cursor goes."""

    cursor: datetime
    due: tuple[Due, ...] = ()


def plan(trigger: Trigger, cursor: datetime, now: datetime, policy: Policy, *, running: int) -> Plan:
    """Return what becomes of the instants from `cursor`, excluded, to `now`, included.

    Args:
        trigger: What implies the instants.
        cursor: Last instant that has its row, UTC.
        now: UTC; where the clock went back behind the cursor, nothing is due.
        policy: Of the job: `missed`, `missed_window`, `missed_max`, `overlap`, `max_parallel`.
        running: Runs of the job that have not finished.

    Source: reference, "Policy model", exact meaning.
    """
    newest, count = latest_fire(trigger, cursor, now)
    if newest is None:
        return Plan(cursor)
    window = policy.missed_window or (WINDOW_AT if isinstance(trigger, AtTrigger) else WINDOW)
    punctual = policy.start_deadline or PUNCTUAL
    wanted = _wanted(trigger, cursor, newest, now, policy, window=window, punctual=punctual)
    left_out = count - len(wanted)
    due: list[Due] = []
    if left_out:
        due.append(_missed(trigger, cursor, wanted[0] if wanted else None, newest, left_out, _why(policy, wanted)))
    for nominal in wanted:
        due.append(_gate(nominal, policy, running))
        running += due[-1].runs
    return Plan(newest, tuple(due))


def _wanted(
    trigger: Trigger,
    cursor: datetime,
    newest: datetime,
    now: datetime,
    policy: Policy,
    *,
    window: timedelta,
    punctual: timedelta,
) -> tuple[datetime, ...]:
    """Return the instants that are to run, oldest first."""
    if now - newest <= punctual and policy.missed != "all":
        return (newest,)
    if policy.missed == "skip" or now - newest > window:
        return ()
    if policy.missed == "latest":
        return (newest,)
    inside = max(cursor, now - window - timedelta(microseconds=1))
    return _last(trigger, inside, newest, policy.missed_max)


def _last(trigger: Trigger, after: datetime, newest: datetime, limit: int) -> tuple[datetime, ...]:
    """Return the newest instants up to `newest`, at most `limit`, by searching ever shorter stretches."""
    while latest_fire(trigger, after, newest, cap=limit + 1).total > limit:
        middle = after + (newest - after) / 2
        if latest_fire(trigger, middle, newest, cap=limit + 1).total >= limit:
            after = middle
        else:
            found = tuple(occurrences(trigger, after, newest, 100_000))
            return found[-limit:]
    return tuple(occurrences(trigger, after, newest, limit))


def _missed(trigger: Trigger, cursor: datetime, before: datetime | None, newest: datetime, count: int, why: str) -> Due:
    """Return the one row of everything that does not run: from behind the cursor to before the first that does."""
    first = next_fire(trigger, cursor) or newest
    last = newest if before is None else _previous(trigger, cursor, before)
    return Due(first, OccurrenceStatus.MISSED, why, until_at=last if count > 1 else None, count=count)


def _previous(trigger: Trigger, after: datetime, before: datetime) -> datetime:
    found = latest_fire(trigger, after, before - timedelta(microseconds=1)).latest
    return found or before


def _why(policy: Policy, wanted: tuple[datetime, ...]) -> str:
    if wanted:
        return "a later one runs"
    return "policy.missed = skip" if policy.missed == "skip" else "outside_window"


def _gate(nominal: datetime, policy: Policy, running: int) -> Due:
    limit = policy.max_parallel if policy.overlap == "allow" else 1
    if running >= limit:
        return Due(nominal, OccurrenceStatus.SKIPPED, "overlap")
    return Due(nominal, OccurrenceStatus.RAN)
