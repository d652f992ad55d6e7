"""Notice that a success that was expected by an instant did not come, and that one came after all; tell of both.

What is told is owed in the transaction that marks the row, under an id that is derived from it: whatever dies when, the
job's endpoints hear of each late instant once, and once that it is over.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from kova_auto.core.delivery.alert import AlertRaised, alert
from kova_auto.core.delivery.document import spell_duration
from kova_auto.core.delivery.notice import ScheduleNotice
from kova_auto.core.ids import JobName
from kova_auto.core.job import Job
from kova_auto.core.ledger import Occurrence, OccurrenceStatus
from kova_auto.core.schedule.parents import SUCCESSES
from kova_auto.core.view import RunRow
from kova_auto.scheduling.means import Means
from kova_auto.scheduling.roster import Roster

LOG = logging.getLogger(__name__)
_LOOKED_AT: Final = 50


class Lateness:
    """Watch the rows by which a success is expected."""

    def __init__(self, means: Means, roster: Roster) -> None:
        """Take what it works with."""
        self._means, self._roster = means, roster
        self._has_looked = False
        self._unsure: set[JobName] = set()

    def heed(self, ended: Iterable[RunRow]) -> None:
        """Hear that runs have ended: only where one has succeeded can anything have come after all."""
        self._unsure |= {row.job for row in ended if row.outcome in SUCCESSES}

    async def look(self) -> datetime | None:
        """Mark the rows that are late, and those that are so no longer; return when the next may be late."""
        rows, now = await self._means.ledger.expected(), self._means.clock.now()
        left = [row.expect_at for row in rows if row.expect_at and row.expect_at > now]
        for row in rows:
            if row.expect_at and row.expect_at <= now and not self._roster.is_parked(row.job):
                with self._means.grumbles.about(row.job, now):
                    await self._settle(row, row.expect_at, now)
        if not self._has_looked:  # Whatever came while nobody looked.
            self._unsure |= {row.job for row in await self._means.ledger.overdue()}
            self._has_looked = True
        for name in sorted(self._unsure):
            with self._means.grumbles.about(name, now):
                await self._recover(name)
        return min(left, default=None)

    async def _settle(self, row: Occurrence, expect_at: datetime, now: datetime) -> None:
        own = await self._means.views.run(row.run_id) if row.run_id else None
        last = await self._means.views.last_runs(row.job, limit=_LOOKED_AT)
        if first_success([*([own] if own else []), *last], row.nominal_at, until=expect_at):
            await self._means.ledger.settle([row], [row.model_copy(update={"expect_at": None})])
            return
        notice = ScheduleNotice(
            what="late",
            job=row.job,
            description=self._description(row.job),
            nominal_at=row.nominal_at,
            count=row.count,
            expected_at=expect_at,
            noticed_at=now,
            late_s=(now - expect_at).total_seconds(),
            became=_became(row, own),
            run_id=row.run_id or "",
            reason=own.reason if own else "",
            scripted=own.scripted if own else False,
        )
        alerts = self._alerts(notice)
        if await self._means.ledger.settle([row], [row.model_copy(update={"late_at": now})], alerts=alerts):
            by, nominal = expect_at.isoformat(), row.nominal_at.isoformat()
            text = "%s is late: no success came by %s for %s (%s)%s"
            LOG.warning(text, row.job, by, nominal, _said(row, own), _told(alerts))
            self._rang(alerts)

    async def _recover(self, name: JobName) -> None:
        """Tell that a job has succeeded since it was late: each success once, for all instants that waited for it."""
        if self._roster.is_parked(name):
            return
        rows = await self._means.ledger.overdue(name)
        last = await self._means.views.last_runs(name, limit=_LOOKED_AT) if rows else ()
        while rows and (success := first_success(last, rows[0].nominal_at)) and success.finished_at:
            came_at = success.finished_at
            if not await self._end([row for row in rows if row.nominal_at <= came_at], success, came_at):
                return  # A row has changed meanwhile; the next look sees how.
            rows = [row for row in rows if row.nominal_at > came_at]
        self._unsure.discard(name)

    async def _end(self, over: Sequence[Occurrence], success: RunRow, came_at: datetime) -> bool:
        """Write down, and tell, that a success has come for these rows; False where somebody was first."""
        first, job = over[0], over[0].job
        expect_at = first.expect_at or first.nominal_at
        notice = ScheduleNotice(
            what="recovered",
            job=job,
            description=self._description(job),
            nominal_at=first.nominal_at,
            count=sum(row.count for row in over),
            expected_at=expect_at,
            noticed_at=came_at,
            late_s=max((came_at - expect_at).total_seconds(), 0.0),
            became=f"{success.outcome}",
            run_id=success.run_id,
            scripted=success.scripted,
        )
        alerts = self._alerts(notice)
        after = [row.model_copy(update={"recovered_at": came_at}) for row in over]
        if not await self._means.ledger.settle(over, after, alerts=alerts):
            return False
        late_by = spell_duration(notice.late_s)
        LOG.info("%s has recovered, late by %s: run %s%s", job, late_by, success.run_id, _told(alerts))
        self._rang(alerts)
        return True

    def _job(self, name: JobName) -> Job | None:
        scheduled = self._roster.get(name)
        return scheduled.job if scheduled else None

    def _description(self, name: JobName) -> str:
        job = self._job(name)
        return job.description if job else ""

    def _alerts(self, notice: ScheduleNotice) -> list[AlertRaised]:
        """Return what is owed to the endpoints of a job: to all of them, whatever outcomes they are told of."""
        job = self._job(JobName(notice.job))
        return [alert(notice, [one.endpoint for one in job.notify])] if job and job.notify else []

    def _rang(self, alerts: Sequence[AlertRaised]) -> None:
        if alerts:
            self._means.ring()


def first_success(ended: Sequence[RunRow], since: datetime, until: datetime | None = None) -> RunRow | None:
    """Return the first run that has succeeded since an instant, included, and until another, included."""
    good = [(row.finished_at, row) for row in ended if row.outcome in SUCCESSES and row.finished_at]
    came = [(at, row) for at, row in good if since <= at and (until is None or at <= until)]
    return min(came, key=lambda found: found[0], default=(None, None))[1]


def _became(row: Occurrence, own: RunRow | None) -> str:
    """Say what has become of an instant so far."""
    if own:
        return f"its run has ended as {own.outcome}" if own.outcome else f"its run is {own.execution}"
    if row.status is OccurrenceStatus.PENDING:
        return "it waits for its turn"
    return f"{row.status}: {row.why}" if row.why else f"{row.status}"


def _said(row: Occurrence, own: RunRow | None) -> str:
    return f"its run: {own.run_id}, {own.outcome or own.execution}" if own else f"{row.status}: {row.why}"


def _told(alerts: Sequence[AlertRaised]) -> str:
    names = ", ".join(name for one in alerts for name in one.endpoints)
    return f"; told to {names}" if names else ""
