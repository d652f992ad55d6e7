"""A journal, its views and its ledger in memory: what the engine's tests run on.

It keeps the JSON of the facts and folds it anew whenever it is asked, so that it cannot disagree with the journal it
stands for; the same suite in `tests/ports` runs against both.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from kova_auto.core.delivery.alert import AlertFact, AlertRaised, AlertState, Telling, fold, told
from kova_auto.core.delivery.alert import load as load_alert
from kova_auto.core.errors import JournalError
from kova_auto.core.event import (
    RunRequested,
)
from kova_auto.core.ids import JobName, RunId
from kova_auto.core.ledger import NO_SCHEDULE, Occurrence, OccurrenceStatus, ScheduleVersion, Standing
from kova_auto.core.pausing import JobMark
from tests.doubles.facts import Hook
from tests.doubles.views import MemoryViews


class MemoryJournal(MemoryViews):
    """Be `Journal`, `Views`, `Ledger` and `Alerts` in one; this last part is the ledger with its alerts."""

    def __init__(self, *, before_append: Hook | None = None, after_append: Hook | None = None) -> None:
        """Start empty; see `_Facts` for the hooks."""
        super().__init__(before_append=before_append, after_append=after_append)
        self._cursors: dict[tuple[JobName, str], datetime] = {}
        self._versions: dict[JobName, list[ScheduleVersion]] = {}
        self._occurrences: dict[tuple[JobName, datetime], Occurrence] = {}
        self._marks: dict[JobName, JobMark] = {}
        self._started: datetime | None = None

    async def begin(self, versions: Sequence[ScheduleVersion]) -> None:
        """Let schedules begin, each with its cursor at its first instant; one that its job has is left alone."""
        for version in versions:
            known = self._versions.get(version.job, [])
            if known and known[-1].schedule == version.schedule:
                continue
            self._versions[version.job] = [one for one in known if one.begun_at < version.begun_at] + [version]
            if version.schedule != NO_SCHEDULE and (known or (version.job, version.schedule) not in self._cursors):
                self._cursors[version.job, version.schedule] = version.begun_at

    async def standings(self) -> Sequence[Standing]:
        """Return where each job's schedule stands, as it was begun last; of jobs that have none too."""
        last = [versions[-1] for _, versions in sorted(self._versions.items())]
        return [
            Standing(
                job=one.job,
                schedule=one.schedule,
                begun_at=one.begun_at,
                cursor=self._cursors.get((one.job, one.schedule), one.begun_at),
            )
            for one in last
        ]

    async def versions(self, job: JobName | None = None) -> Sequence[ScheduleVersion]:
        """Return which schedules jobs had, oldest first."""
        every = [one for name, versions in self._versions.items() if job in (None, name) for one in versions]
        return sorted(every, key=lambda one: (one.begun_at, one.job))

    async def cursor(self, job: JobName, schedule: str) -> datetime | None:
        """Return the last nominal instant that has its row; None where this schedule was never seen."""
        return self._cursors.get((job, schedule))

    async def claim(
        self,
        job: JobName,
        schedule: str,
        *,
        was: datetime | None,
        cursor: datetime,
        rows: Sequence[Occurrence] = (),
        runs: Sequence[RunRequested] = (),
        instead_of: Sequence[Occurrence] = (),
    ) -> bool:
        """Move the cursor, write the rows and open the runs, all in one transaction; False where somebody was first."""
        if self._cursors.get((job, schedule)) != was or not self._fits(instead_of, rows):
            return False
        self._cursors[job, schedule] = cursor
        await self._put(instead_of, rows, runs)
        return True

    async def settle(
        self,
        instead_of: Sequence[Occurrence],
        rows: Sequence[Occurrence],
        runs: Sequence[RunRequested] = (),
        mark: JobMark | None = None,
        alerts: Sequence[AlertRaised] = (),
    ) -> bool:
        """Write rows in the place of others, with all that comes of them; False where somebody was first."""
        if not self._fits(instead_of, rows):
            return False
        if mark is not None:
            self._marks[mark.job] = mark
        for alert in alerts:
            self._alerts.setdefault(alert.alert_id, [alert.model_dump_json()])
        await self._put(instead_of, rows, runs)
        return True

    def _fits(self, instead_of: Sequence[Occurrence], rows: Sequence[Occurrence]) -> bool:
        there = {row.key: self._occurrences.get(row.key) for row in instead_of}
        same = all(
            (now := there[was.key]) is not None
            and (now.status, now.why, now.run_id) == (was.status, was.why, was.run_id)
            for was in instead_of
        )
        new = {row.key for row in rows}
        return same and len(new) == len(rows) and not new & (self._occurrences.keys() - there.keys())

    async def _put(
        self, instead_of: Sequence[Occurrence], rows: Sequence[Occurrence], runs: Sequence[RunRequested]
    ) -> None:
        for was in instead_of:
            del self._occurrences[was.key]
        self._occurrences.update({row.key: row for row in rows})
        for run in runs:
            await self.open(run)

    async def started(self, at: datetime) -> datetime | None:
        """Write down that a service has started; return when one had before, None where none had."""
        before, self._started = self._started, at
        return before

    async def mark(self, mark: JobMark) -> None:
        """Write down that a person, or the service, lets a job's schedule rest or go on."""
        self._marks[mark.job] = mark

    async def marks(self) -> Sequence[JobMark]:
        """Return the newest mark of each job that has one."""
        return [mark for _, mark in sorted(self._marks.items())]

    async def occurrences(self, job: JobName | None = None, *, limit: int = 100) -> Sequence[Occurrence]:
        """Return rows, newest first."""
        rows = [row for row in self._occurrences.values() if job in (None, row.job)]
        by_job = sorted(rows, key=lambda row: row.job)
        return sorted(by_job, key=lambda row: row.nominal_at, reverse=True)[:limit]

    async def between(
        self, job: JobName | None, since: datetime, until: datetime, *, limit: int = 10_000
    ) -> Sequence[Occurrence]:
        """Return the rows of which an instant lies in a stretch, oldest first."""
        rows = [row for row in self._occurrences.values() if job in (None, row.job)]
        found = [row for row in rows if row.nominal_at < until and (row.until_at or row.nominal_at) >= since]
        return sorted(found, key=lambda row: (row.nominal_at, row.job))[:limit]

    async def pending(self) -> Sequence[Occurrence]:
        """Return the rows that wait, oldest first."""
        rows = [row for row in self._occurrences.values() if row.status is OccurrenceStatus.PENDING]
        return sorted(rows, key=lambda row: (row.nominal_at, row.job))

    async def expected(self) -> Sequence[Occurrence]:
        """Return the rows by which a success is expected that nobody has found late yet, soonest first."""
        rows = [(row.expect_at, row.job, row.nominal_at, row) for row in self._occurrences.values() if row.expect_at]
        return [row for *_, row in sorted(rows, key=lambda found: found[:3]) if row.late_at is None]

    async def overdue(self, job: JobName | None = None) -> Sequence[Occurrence]:
        """Return the rows that are late and by which a success is still awaited, oldest first."""
        rows = [row for row in self._occurrences.values() if job in (None, row.job) and row.late_at and row.expect_at]
        return sorted((row for row in rows if not row.recovered_at), key=lambda row: (row.nominal_at, row.job))

    async def alert(self, alert_id: RunId) -> list[AlertFact]:
        """Return an alert's facts, oldest first; empty where there is none of this id."""
        return [load_alert(text) for text in self._alerts.get(alert_id, ())]

    async def tell(self, alert_id: RunId, fact: Telling) -> AlertState:
        """Write one more fact about an alert's telling."""
        if alert_id not in self._alerts:
            msg = f"the journal holds no alert {alert_id}"
            raise JournalError(msg)
        after = told(fold(await self.alert(alert_id)), fact)
        self._alerts[alert_id].append(fact.model_dump_json())
        return after

    async def ran(self, job: JobName) -> int:
        """Count the instants of a job that have run."""
        return sum(row.job == job and row.status is OccurrenceStatus.RAN for row in self._occurrences.values())
