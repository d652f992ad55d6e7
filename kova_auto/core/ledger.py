"""The ledger of occurrences: one row for every instant that a schedule implies, and a cursor that moves on."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from kova_auto.core.delivery.alert import AlertRaised
from kova_auto.core.event import RunRequested
from kova_auto.core.ids import JobName, RunId
from kova_auto.core.pausing import JobMark
from kova_auto.core.value import Value

NO_SCHEDULE = ""
"""The hash of a version that ends the one before: the job is gone, or is only run by hand."""


class OccurrenceStatus(StrEnum):
    """Say what became of an occurrence."""

    PENDING = "pending"
    RAN = "ran"
    SKIPPED = "skipped"
    MISSED = "missed"


class Occurrence(Value):
    """Hold one row of the ledger.

    Attributes:
        schedule: Hash of the schedule that implied it.
        nominal_at: The instant itself, UTC; the first of them where the row spans a stretch.
        until_at: The last instant of a stretch; None for a single one.
        count: How many instants the row stands for.
        due_at: Nominal plus jitter.
        why: Of a skipped or missed one, as `overlap` or `outside_window`.
        run_id: Of one that ran, or is about to.
        settled_at: When it became what it is; None in rows of an earlier version.
        expect_at: A success of the job is expected by then, and was not seen yet; None where none is.
        late_at: When it was noticed that there was none.
        recovered_at: When one came after all.
    """

    job: JobName
    schedule: str
    nominal_at: datetime
    due_at: datetime
    status: OccurrenceStatus
    why: str = ""
    until_at: datetime | None = None
    count: int = 1
    run_id: RunId | None = None
    settled_at: datetime | None = None
    expect_at: datetime | None = None
    late_at: datetime | None = None
    recovered_at: datetime | None = None

    @property
    def lateness(self) -> timedelta | None:
        """Return how long after it was due it became what it is; None where that is not known."""
        return None if self.settled_at is None else self.settled_at - self.due_at

    @property
    def key(self) -> tuple[JobName, datetime]:
        """Return what no two rows share."""
        return self.job, self.nominal_at


class ScheduleVersion(Value):
    """Say that a job has a schedule since an instant, until it has the next.

    Attributes:
        schedule: Its hash, or `NO_SCHEDULE`.
        body: The `[schedule]` table as JSON.
    """

    job: JobName
    begun_at: datetime
    schedule: str
    body: str = ""


class Standing(Value):
    """Hold which schedule a job has, and how far it is accounted for.

    Attributes:
        cursor: Last nominal instant that has its row, or where the schedule began.
    """

    job: JobName
    schedule: str
    begun_at: datetime
    cursor: datetime


class Ledger(Protocol):
    """Keep cursors and occurrences."""

    async def begin(self, versions: Sequence[ScheduleVersion]) -> None:
        """Let schedules begin, each with its cursor at its first instant, all in one transaction.

        One that its job has already is left alone. A cursor from before there were versions stays where it is.
        """

    async def standings(self) -> Sequence[Standing]:
        """Return where each job's schedule stands, as it was begun last; of jobs that have none too."""

    async def versions(self, job: JobName | None = None) -> Sequence[ScheduleVersion]:
        """Return which schedules jobs had, oldest first."""

    async def cursor(self, job: JobName, schedule: str) -> datetime | None:
        """Return the last nominal instant that has its row; None where this schedule was never seen."""

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
        """Move the cursor, write the rows and open the runs, all in one transaction.

        Args:
            job: The job.
            schedule: Hash of its schedule.
            was: Where the caller saw the cursor.
            cursor: Where it goes.
            rows: What became of the instants.
            runs: Those of the rows that ran.
            instead_of: Rows that these take the place of.

        Returns:
            False, with nothing changed, where the cursor is no longer at `was`, a row is there already, or one of
            `instead_of` is no longer what it was: somebody else was first.
        """

    async def settle(
        self,
        instead_of: Sequence[Occurrence],
        rows: Sequence[Occurrence],
        runs: Sequence[RunRequested] = (),
        mark: JobMark | None = None,
        alerts: Sequence[AlertRaised] = (),
    ) -> bool:
        """Write rows in the place of others, open the runs, set the mark and raise the alerts, all in one transaction.

        An alert that was raised before is left as it is: nobody is told twice.

        Returns:
            False, with nothing changed, where one of `instead_of` is no longer what it was: somebody else was first.
        """

    async def started(self, at: datetime) -> datetime | None:
        """Write down that a service has started; return when one had before, None where none had."""

    async def mark(self, mark: JobMark) -> None:
        """Write down that a person, or the service, lets a job's schedule rest or go on."""

    async def marks(self) -> Sequence[JobMark]:
        """Return the newest mark of each job that has one."""

    async def occurrences(self, job: JobName | None = None, *, limit: int = 100) -> Sequence[Occurrence]:
        """Return rows, newest first."""

    async def between(
        self, job: JobName | None, since: datetime, until: datetime, *, limit: int = 10_000
    ) -> Sequence[Occurrence]:
        """Return the rows of which an instant lies in a stretch, `until` excluded, oldest first."""

    async def pending(self) -> Sequence[Occurrence]:
        """Return the rows that wait, oldest first."""

    async def expected(self) -> Sequence[Occurrence]:
        """Return the rows by which a success is expected that nobody has found late yet, soonest first."""

    async def overdue(self, job: JobName | None = None) -> Sequence[Occurrence]:
        """Return the rows that are late and by which a success is still awaited, of one job or all, oldest first."""

    async def ran(self, job: JobName) -> int:
        """Count the instants of a job that have run."""
