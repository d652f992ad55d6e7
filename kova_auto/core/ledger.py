"""The ledger of occurrences: one row for every instant that a schedule implies, and a cursor that moves on."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from kova_auto.core.event import RunRequested
from kova_auto.core.ids import JobName, RunId
from kova_auto.core.pausing import JobMark
from kova_auto.core.value import Value


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


class Ledger(Protocol):
    """Keep cursors and occurrences."""

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
    ) -> bool:
        """Move the cursor, write the rows and open the runs, all in one transaction.

        Returns:
            False, with nothing changed, where the cursor is no longer at `was` or a row is there already:
            somebody else was first.
        """

    async def change(self, row: Occurrence) -> None:
        """Write a row anew, as one that was pending and has now run."""

    async def mark(self, mark: JobMark) -> None:
        """Write down that a person, or the service, lets a job's schedule rest or go on."""

    async def marks(self) -> Sequence[JobMark]:
        """Return the newest mark of each job that has one."""

    async def occurrences(self, job: JobName | None = None, *, limit: int = 100) -> Sequence[Occurrence]:
        """Return rows, newest first."""
