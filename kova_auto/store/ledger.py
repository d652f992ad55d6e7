"""The ledger of occurrences: cursors that move once, and rows that exist once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from sqlalchemy import Connection, bindparam, insert, select, update
from sqlalchemy.exc import IntegrityError

from kova_auto.core.errors import JournalError
from kova_auto.core.event import RunRequested
from kova_auto.core.ids import JobName
from kova_auto.core.ledger import Occurrence
from kova_auto.core.pausing import JobMark
from kova_auto.store import facts
from kova_auto.store.database import Database
from kova_auto.store.journal import Guard, guarded
from kova_auto.store.rows import found, inserting, save, selecting, values
from kova_auto.store.tables import CURSOR, MARK, OCCURRENCE

_AT = select(CURSOR.c.at).where(CURSOR.c.job == bindparam("of_job"), CURSOR.c.schedule == bindparam("of_schedule"))
_ADVANCE = update(CURSOR).where(
    CURSOR.c.job == bindparam("of_job"), CURSOR.c.schedule == bindparam("of_schedule"), CURSOR.c.at == bindparam("was")
)
_ADD = insert(OCCURRENCE)
_OCCURRENCES = selecting(OCCURRENCE, Occurrence)
_MARKS = selecting(MARK, JobMark).order_by(MARK.c.job)


class _ClaimedError(JournalError):
    """Undo a claim that came second; never leaves this module."""


class SqlLedger:
    """Keep cursors and occurrences in a database; see `core/ledger.py` for what each method promises."""

    def __init__(self, database: Database, guard: Guard) -> None:
        self._database, self._guard = database, guard

    async def cursor(self, job: JobName, schedule: str) -> datetime | None:
        """Return the last nominal instant that has its row; None where this schedule was never seen."""
        of = {"of_job": job, "of_schedule": schedule}
        return await self._database.read(lambda connection: connection.execute(_AT, of).scalar_one_or_none())

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
        """Move the cursor, write the rows and open the runs, all in one transaction; False where somebody was first."""
        opening = [guarded(run, self._guard) for run in runs]

        def work(connection: Connection) -> None:
            _advance(connection, job, schedule, was, cursor)
            _add(connection, rows)
            for run, text in opening:
                facts.open_run(connection, run, text)

        try:
            await self._database.write(work)
        except _ClaimedError:
            return False
        return True

    async def change(self, row: Occurrence) -> None:
        """Write a row anew, as one that was pending and has now run."""
        await self._database.write(partial(save, table=OCCURRENCE, rows=[row]))

    async def mark(self, mark: JobMark) -> None:
        """Write down that a person, or the service, lets a job's schedule rest or go on."""
        await self._database.write(partial(save, table=MARK, rows=[mark]))

    async def marks(self) -> Sequence[JobMark]:
        """Return the newest mark of each job that has one."""
        return await self._database.read(partial(found, statement=_MARKS, kind=JobMark))

    async def occurrences(self, job: JobName | None = None, *, limit: int = 100) -> Sequence[Occurrence]:
        """Return rows, newest first."""
        statement = _OCCURRENCES.order_by(OCCURRENCE.c.nominal_at.desc(), OCCURRENCE.c.job).limit(limit)
        if job is not None:
            statement = statement.where(OCCURRENCE.c.job == job)
        return await self._database.read(partial(found, statement=statement, kind=Occurrence))


def _advance(connection: Connection, job: JobName, schedule: str, was: datetime | None, to: datetime) -> None:
    """Move the cursor from where the caller saw it."""
    if was is None:
        first = inserting(connection.dialect.name, CURSOR).on_conflict_do_nothing().returning(CURSOR.c.job)
        moved = connection.execute(first, {"job": job, "schedule": schedule, "at": to}).one_or_none() is not None
    else:
        of = {"of_job": job, "of_schedule": schedule, "was": was, "at": to}
        moved = connection.execute(_ADVANCE, of).rowcount == 1
    if not moved:
        raise _ClaimedError


def _add(connection: Connection, rows: Sequence[Occurrence]) -> None:
    """Write rows that nobody has written."""
    if not rows:
        return
    try:
        connection.execute(_ADD, [values(row) for row in rows])
    except IntegrityError as exc:
        raise _ClaimedError from exc
