"""Write down what fell due and open its runs, in one transaction, unless somebody else was first."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from kova_auto.core.day import BUDGET, day_is_spent, say_spent
from kova_auto.core.event import RunRequested
from kova_auto.core.holding import said_busy
from kova_auto.core.ids import JobName, RunId
from kova_auto.core.job import Job
from kova_auto.core.ledger import Occurrence, OccurrenceStatus
from kova_auto.core.pausing import PAUSED
from kova_auto.core.schedule.occurrences import LATER, Due
from kova_auto.core.schedule.overlap import REPLACED, Gated, Standing, gate
from kova_auto.scheduling.means import Means, Occasion
from kova_auto.scheduling.roster import Scheduled

LOG = logging.getLogger(__name__)
_UNEXPECTED = frozenset({PAUSED, LATER, REPLACED, BUDGET})
"""Why an instant has no run of its own without anybody having expected one."""

Given = Mapping[datetime, tuple[tuple[str, str], ...]]
"""Of an instant, the inputs that come from elsewhere than the job file."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Hold what is to be written.

    Attributes:
        cursor: Where the cursor was seen.
        moves_to: Where it goes.
        instead_of: Rows, besides those that are replaced, whose place these take.
    """

    scheduled: Scheduled
    cursor: datetime
    moves_to: datetime
    gated: Gated
    given: Given = field(default_factory=dict)
    instead_of: tuple[Occurrence, ...] = ()


async def standing(means: Means, job: Job, waiting: Sequence[Occurrence]) -> Standing:
    """Return what stands in the way of a job's next run; `waiting` was read before this is asked."""
    running = len(await means.views.runs(job=JobName(job.name), unfinished=True, limit=1000))
    return Standing(running, tuple(waiting), said_busy(await means.views.holds(), job))


async def gated(means: Means, job: Job, due: Sequence[Due], waiting: Sequence[Occurrence]) -> Gated:
    """Return what becomes of what is to run, with regard to the runs that have not finished."""
    if not any(item.runs for item in due):
        return Gated(tuple(due))
    return gate(due, job.policy, await standing(means, job, waiting))


async def write(means: Means, claim: Claim) -> Sequence[RunId] | None:
    """Write a claim; return the runs that it has opened, None where somebody else was first."""
    opened = await _write(means, claim, {})
    name, key = claim.scheduled.name, claim.scheduled.key
    if opened is None and await means.ledger.cursor(name, key) == claim.cursor:
        # No other scheduler was first: an instant has its row from when the clock was wrong.
        there = {row.nominal_at: row for row in await means.ledger.occurrences(name, limit=10_000)}
        opened = await _write(means, claim, there)
    return opened


async def _write(means: Means, claim: Claim, there: Mapping[datetime, Occurrence]) -> Sequence[RunId] | None:
    """Claim what is due, but for the instants that have run; `there` holds the rows that are known to exist."""
    scheduled, job = claim.scheduled, claim.scheduled.job
    due = [item for item in claim.gated.due if item.nominal_at not in there or not there[item.nominal_at].run_id]
    rows: list[Occurrence] = []
    runs: list[RunRequested] = []
    told: list[str] = []
    for item in due:
        occasion = Occasion(item.nominal_at, item.was_due_at, claim.given.get(item.nominal_at, ()))
        run = await means.opening(job, occasion) if item.runs else None
        row, run, more = settled(means, scheduled, item, run)
        rows.append(row)
        runs += [run] if run else []
        told.append(said(row, more))
    now = means.clock.now()
    replaced = [_replaced(row, now) for row in claim.gated.replaced]
    again = [there[row.nominal_at] for row in rows if row.nominal_at in there]
    old = (*claim.gated.replaced, *claim.instead_of, *again)
    if not await means.ledger.claim(
        scheduled.name,
        scheduled.key,
        was=claim.cursor,
        cursor=claim.moves_to,
        rows=[*rows, *replaced],
        runs=runs,
        instead_of=old,
    ):
        return None
    for line in (*told, *(said(row) for row in replaced)):
        LOG.info("%s", line)
    if runs:
        means.ring()
    return [run.run_id for run in runs]


def settled(
    means: Means, scheduled: Scheduled, item: Due, run: RunRequested | None
) -> tuple[Occurrence, RunRequested | None, str]:
    """Return the row of what fell due, its run unless the job has spent its day, and what is to be said of that."""
    more = ""
    if run is not None and day_is_spent(run):
        more = say_spent(run)
        item, run = item.skipped(BUDGET), None
    row = Occurrence(
        job=scheduled.name,
        schedule=scheduled.key,
        nominal_at=item.nominal_at,
        due_at=item.was_due_at,
        status=item.status,
        why=item.why,
        until_at=item.until_at,
        count=item.count,
        run_id=run.run_id if run else None,
        settled_at=means.clock.now(),
        expect_at=expected_at(scheduled.job, item),
    )
    return row, run, more


def expected_at(job: Job, item: Due) -> datetime | None:
    """Return when a success is expected after an instant; None where nobody expects one."""
    within = job.policy.expect_within
    if within is None or item.why in _UNEXPECTED or item.why.startswith("excluded"):
        return None
    return (item.until_at or item.nominal_at) + within


def said(row: Occurrence, more: str = "") -> str:
    """Say what became of an occurrence."""
    why = f" ({row.why}{': ' if more else ''}{more})" if row.why else ""
    return f"{row.job} for {row.nominal_at.isoformat()}: {row.status}{why}"


def _replaced(row: Occurrence, now: datetime) -> Occurrence:
    gone = {"status": OccurrenceStatus.SKIPPED, "why": REPLACED, "settled_at": now, "expect_at": None}
    return row.model_copy(update=gone)
