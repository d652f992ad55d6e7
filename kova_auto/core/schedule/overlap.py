"""Decide what becomes of what is to run while earlier runs of the job have not finished.

A run that waits for a person has not finished. What waits for its turn is a row without a run: it begins once the runs
before it have ended, and no sooner.

Source: reference on scheduling, 3.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from kova_auto.core.job import Policy
from kova_auto.core.ledger import Occurrence, OccurrenceStatus
from kova_auto.core.schedule.occurrences import Due

OVERLAP = "overlap"
QUEUE_FULL = "queue_full"
REPLACED = "replaced"
STUCK = "stuck"
EXPIRED = "expired"
CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class Standing:
    """Hold what stands in the way of a job's next run.

    Attributes:
        running: Its runs that have not finished, whoever asked for them.
        waiting: Its rows that wait, oldest first.
        busy: Who has the workspace to itself, where another job's run does; empty where it is free.
    """

    running: int
    waiting: tuple[Occurrence, ...] = ()
    busy: str = ""


@dataclass(frozen=True, slots=True)
class Gated:
    """Hold what becomes of what fell due, oldest first, and which rows that waited do so no more."""

    due: tuple[Due, ...]
    replaced: tuple[Occurrence, ...] = ()


def gate(due: Sequence[Due], policy: Policy, standing: Standing) -> Gated:
    """Return which of what is to run runs now, waits, or is skipped."""
    passed: list[Due] = []
    running, waiting = standing.running, len(standing.waiting)
    replaced: tuple[Occurrence, ...] = ()
    for item in due:
        found = _one(item, policy, running, waiting, standing.busy) if item.runs else item
        if found.status is OccurrenceStatus.PENDING and waiting and policy.overlap != "queue":
            passed = [_unless_waits(earlier) for earlier in passed]
            replaced, waiting = standing.waiting, 0
        running += found.runs
        waiting += found.status is OccurrenceStatus.PENDING
        passed.append(found)
    return Gated(tuple(passed), replaced)


def _one(item: Due, policy: Policy, running: int, waiting: int, busy: str) -> Due:
    limit = policy.max_parallel if policy.overlap == "allow" else 1
    free = running < limit and not waiting
    match policy.overlap:
        case "skip":
            return item if free and not busy else item.skipped(OVERLAP if not free else busy)
        case "allow":
            return item if running < limit else item.skipped(OVERLAP)
        case "queue" if not free and waiting >= policy.queue_limit:
            return item.skipped(QUEUE_FULL)
        case _:
            return item if free else replace(item, status=OccurrenceStatus.PENDING)


def _unless_waits(item: Due) -> Due:
    return item.skipped(REPLACED) if item.status is OccurrenceStatus.PENDING else item


def why_given_up(row: Occurrence, schedule: str | None, policy: Policy | None, now: datetime) -> str:
    """Return why a row that waits need not wait any longer; empty where it does.

    Args:
        row: It.
        schedule: Hash of its job's schedule as it is now; None where there is no such job any more.
        policy: Of the job.
        now: UTC.
    """
    if schedule != row.schedule or policy is None:
        return CHANGED
    last = last_start_at(row, policy)
    return EXPIRED if last is not None and now > last else ""


def last_start_at(row: Occurrence, policy: Policy) -> datetime | None:
    """Return until when a row that waits may begin; None where it may at any time.

    What was caught up with came too late anyway: for it the time counts from when it began to wait.
    """
    deadline = policy.start_deadline
    if deadline is None:
        return None
    caught_up = row.lateness is not None and row.lateness > deadline
    return (row.settled_at if caught_up and row.settled_at else row.due_at) + deadline


def may_begin(policy: Policy, running: int) -> bool:
    """Say whether the oldest of what waits may begin."""
    return running < (policy.max_parallel if policy.overlap == "allow" else 1)


def is_stuck(stopped_at: datetime, cancel_grace: timedelta, now: datetime) -> bool:
    """Say whether a run that was asked to stop for the next one should have ended by now."""
    return now - stopped_at >= cancel_grace
