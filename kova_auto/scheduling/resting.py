"""Let schedules rest that are to, and catch up with a rest where whoever ended it asked for that."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from typing import Final

from kova_auto.core.ids import JobName
from kova_auto.core.job import Job
from kova_auto.core.ledger import Occurrence, OccurrenceStatus
from kova_auto.core.pausing import PAUSED, JobMark, Pause, pauses
from kova_auto.core.schedule.occurrences import plan
from kova_auto.core.schedule.resting import looks_at, why_enough, why_worn_out
from kova_auto.core.schedule.search import TICK
from kova_auto.scheduling.claiming import Claim, gated, write
from kova_auto.scheduling.means import Means
from kova_auto.scheduling.roster import Scheduled

LOG = logging.getLogger(__name__)
BY: Final = "service"
_LOOKED_AT: Final = 1_000


@dataclass(frozen=True, slots=True)
class Rests:
    """Hold which schedules rest, and what was said last of each job."""

    marks: Mapping[JobName, JobMark]
    paused: Mapping[JobName, Pause]

    @classmethod
    async def look(cls, means: Means) -> Rests:
        """Ask."""
        marks = await means.ledger.marks()
        return cls({mark.job: mark for mark in marks}, pauses(marks, await means.views.pausing()))

    def goes_on_since(self, name: JobName) -> datetime | None:
        """Return when somebody let a schedule go on; None where that was not what was said last."""
        mark = self.marks.get(name)
        return mark.at if mark and not mark.paused else None


async def is_to_rest(means: Means, job: Job, rests: Rests) -> bool:
    """Say whether a schedule rests, and let it if its runs say so."""
    name = JobName(job.name)
    if name in rests.paused:
        return True
    last = await means.views.last_runs(name, limit=looks_at(job.policy))
    why = why_worn_out(job.policy, last, rests.goes_on_since(name))
    if not why and job.policy.max_runs:
        why = why_enough(job.policy, await means.ledger.ran(name))
    if why:
        await rest(means, name, why)
    return bool(why)


async def rest(means: Means, name: JobName, why: str) -> None:
    """Let a schedule rest until a person lets it go on."""
    await means.ledger.mark(JobMark(job=name, at=means.clock.now(), paused=True, by=BY, reason=why))
    LOG.warning("the schedule of %s rests: %s; kova-auto jobs resume %s lets it go on", name, why, name)


async def catch_up(means: Means, scheduled: Scheduled, mark: JobMark, waiting: Sequence[Occurrence]) -> None:
    """Apply `missed` to what was skipped while the schedule rested last; then the mark says so no more."""
    settled = mark.model_copy(update={"catch_up": False})
    rows = [
        row
        for row in await means.ledger.occurrences(scheduled.name, limit=_LOOKED_AT)
        if row.schedule == scheduled.key and row.nominal_at <= scheduled.cursor
    ]
    rested = [*takewhile(_is_of_a_rest, rows)]
    while rested and rested[-1].why != PAUSED:
        rested.pop()
    cursor = await means.ledger.cursor(scheduled.name, scheduled.key)
    if rested and cursor is not None:
        now, policy = means.clock.now(), scheduled.job.policy
        again = plan(scheduled.timetable, rested[-1].nominal_at - TICK, now, policy)
        due = await gated(means, scheduled.job, again.due, waiting)
        claim = Claim(scheduled, cursor, max(cursor, again.cursor), due, instead_of=tuple(rested))
        if await write(means, claim) is None:
            return  # Somebody else was first, or will be asked again.
    await means.ledger.mark(settled)


def _is_of_a_rest(row: Occurrence) -> bool:
    return row.status is OccurrenceStatus.SKIPPED and (row.why == PAUSED or row.why.startswith("excluded"))
