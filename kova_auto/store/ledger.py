"""The ledger of occurrences: cursors that move once, and rows that exist once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cache, partial
from typing import Any

from sqlalchemy import Connection, Select, and_, bindparam, delete, func, select, update

from kova_auto.core.delivery.alert import AlertRaised
from kova_auto.core.errors import JournalError
from kova_auto.core.event import RunRequested
from kova_auto.core.ids import JobName
from kova_auto.core.ledger import Occurrence, OccurrenceStatus, ScheduleVersion, Standing
from kova_auto.core.pausing import JobMark
from kova_auto.core.state import opened
from kova_auto.store import facts
from kova_auto.store.alerts import guarded_fact, raise_alerts
from kova_auto.store.beginning import begin
from kova_auto.store.database import Database, Work
from kova_auto.store.journal import Guard, guarded
from kova_auto.store.prepared import Prepared
from kova_auto.store.rows import found, inserting, save, selecting, values
from kova_auto.store.tables import CURSOR, EXPECTED, MARK, OCCURRENCE, OVERDUE, PENDING, START, VERSION

_OF = and_(CURSOR.c.job == bindparam("of_job"), CURSOR.c.schedule == bindparam("of_schedule"))
_AT = Prepared(select(CURSOR.c.at).where(_OF))
_ADVANCE = Prepared(update(CURSOR).where(_OF, CURSOR.c.at == bindparam("was")))
_REMOVE = Prepared(
    delete(OCCURRENCE).where(
        OCCURRENCE.c.job == bindparam("of_job"),
        OCCURRENCE.c.nominal_at == bindparam("of_nominal_at"),
        OCCURRENCE.c.status == bindparam("was_status"),
        OCCURRENCE.c.why == bindparam("was_why"),
        func.coalesce(OCCURRENCE.c.run_id, "") == bindparam("was_run_id"),
    )
)
_OCCURRENCES = selecting(OCCURRENCE, Occurrence)
_PENDING = _OCCURRENCES.where(PENDING).order_by(OCCURRENCE.c.nominal_at, OCCURRENCE.c.job)
_EXPECTED = _OCCURRENCES.where(EXPECTED).order_by(OCCURRENCE.c.expect_at, OCCURRENCE.c.job, OCCURRENCE.c.nominal_at)
_OVERDUE = _OCCURRENCES.where(OVERDUE).order_by(OCCURRENCE.c.nominal_at, OCCURRENCE.c.job)
_MARKS = selecting(MARK, JobMark).order_by(MARK.c.job)
_VERSIONS = selecting(VERSION, ScheduleVersion).order_by(VERSION.c.begun_at, VERSION.c.job)
_NEWEST = select(VERSION.c.job, func.max(VERSION.c.begun_at).label("begun_at")).group_by(VERSION.c.job).subquery()
_STANDINGS = (
    select(
        VERSION.c.job,
        VERSION.c.schedule,
        VERSION.c.begun_at,
        func.coalesce(CURSOR.c.at, VERSION.c.begun_at).label("cursor"),
    )
    .join(_NEWEST, and_(_NEWEST.c.job == VERSION.c.job, _NEWEST.c.begun_at == VERSION.c.begun_at))
    .outerjoin(CURSOR, and_(CURSOR.c.job == VERSION.c.job, CURSOR.c.schedule == VERSION.c.schedule))
    .order_by(VERSION.c.job)
)


class _ClaimedError(JournalError):
    """Undo a claim that came second; never leaves this module."""


class SqlLedger:
    """Keep cursors and occurrences in a database; see `core/ledger.py` for what each method promises."""

    def __init__(self, database: Database, guard: Guard) -> None:
        self._database, self._guard = database, guard

    async def begin(self, versions: Sequence[ScheduleVersion]) -> None:
        """Let schedules begin, each with its cursor at its first instant; one that its job has is left alone."""
        if versions:
            await self._database.write(partial(begin, versions=versions))

    async def standings(self) -> Sequence[Standing]:
        """Return where each job's schedule stands, as it was begun last; of jobs that have none too."""
        return await self._database.read(partial(found, statement=_STANDINGS, kind=Standing))

    async def versions(self, job: JobName | None = None) -> Sequence[ScheduleVersion]:
        """Return which schedules jobs had, oldest first."""
        statement = _VERSIONS if job is None else _VERSIONS.where(VERSION.c.job == job)
        return await self._database.read(partial(found, statement=statement, kind=ScheduleVersion))

    async def cursor(self, job: JobName, schedule: str) -> datetime | None:
        """Return the last nominal instant that has its row; None where this schedule was never seen."""
        of = {"of_job": job, "of_schedule": schedule}

        def work(connection: Connection) -> datetime | None:
            return next((at for (at,) in _AT.rows(connection, of)), None)

        return await self._database.look(work)

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
        opening = [guarded(run, self._guard) for run in runs]

        def work(connection: Connection) -> None:
            _advance(connection, job, schedule, was, cursor)
            _write(connection, instead_of, rows, opening)

        return await self._first(work)

    async def settle(
        self,
        instead_of: Sequence[Occurrence],
        rows: Sequence[Occurrence],
        runs: Sequence[RunRequested] = (),
        mark: JobMark | None = None,
        alerts: Sequence[AlertRaised] = (),
    ) -> bool:
        """Write rows in the place of others, with all that comes of them; False where somebody was first."""
        raising = [guarded_fact(alert, self._guard) for alert in alerts]
        opening = [guarded(run, self._guard) for run in runs]

        def work(connection: Connection) -> None:
            _write(connection, instead_of, rows, opening)
            if mark is not None:
                save(connection, MARK, [mark])
            raise_alerts(connection, raising)

        return await self._first(work)

    async def _first(self, work: Work[None]) -> bool:
        try:
            await self._database.jot(work)
        except _ClaimedError:
            return False
        return True

    async def started(self, at: datetime) -> datetime | None:
        """Write down that a service has started; return when one had before, None where none had."""

        def work(connection: Connection) -> datetime | None:
            before: datetime | None = connection.execute(select(func.max(START.c.at))).scalar_one()
            connection.execute(delete(START))
            connection.execute(inserting(connection.dialect.name, START).on_conflict_do_nothing(), {"at": at})
            return before

        return await self._database.write(work)

    async def mark(self, mark: JobMark) -> None:
        """Write down that a person, or the service, lets a job's schedule rest or go on."""
        await self._database.write(partial(save, table=MARK, rows=[mark]))

    async def marks(self) -> Sequence[JobMark]:
        """Return the newest mark of each job that has one."""
        return await self._database.read(partial(found, statement=_MARKS, kind=JobMark))

    async def occurrences(self, job: JobName | None = None, *, limit: int = 100) -> Sequence[Occurrence]:
        """Return rows, newest first."""
        statement = _OCCURRENCES.order_by(OCCURRENCE.c.nominal_at.desc(), OCCURRENCE.c.job).limit(limit)
        return await self._rows(statement if job is None else statement.where(OCCURRENCE.c.job == job))

    async def between(
        self, job: JobName | None, since: datetime, until: datetime, *, limit: int = 10_000
    ) -> Sequence[Occurrence]:
        """Return the rows of which an instant lies in a stretch, `until` excluded, oldest first."""
        columns = OCCURRENCE.c
        statement = _OCCURRENCES.where(
            columns.nominal_at < until, func.coalesce(columns.until_at, columns.nominal_at) >= since
        )
        if job is not None:
            statement = statement.where(columns.job == job)
        return await self._rows(statement.order_by(columns.nominal_at, columns.job).limit(limit))

    async def pending(self) -> Sequence[Occurrence]:
        """Return the rows that wait, oldest first."""
        return await self._rows(_PENDING)

    async def expected(self) -> Sequence[Occurrence]:
        """Return the rows by which a success is expected that nobody has found late yet, soonest first."""
        return await self._rows(_EXPECTED)

    async def overdue(self, job: JobName | None = None) -> Sequence[Occurrence]:
        """Return the rows that are late and by which a success is still awaited, of one job or all, oldest first."""
        return await self._rows(_OVERDUE if job is None else _OVERDUE.where(OCCURRENCE.c.job == job))

    async def _rows(self, statement: Select[Any]) -> Sequence[Occurrence]:
        return await self._database.read(partial(found, statement=statement, kind=Occurrence))

    async def ran(self, job: JobName) -> int:
        """Count the instants of a job that have run."""
        count = select(func.count()).where(OCCURRENCE.c.job == job, OCCURRENCE.c.status == OccurrenceStatus.RAN.value)
        return await self._database.read(lambda connection: connection.execute(count).scalar_one())


def _advance(connection: Connection, job: JobName, schedule: str, was: datetime | None, to: datetime) -> None:
    """Move the cursor from where the caller saw it."""
    if was is None:
        first = inserting(connection.dialect.name, CURSOR).on_conflict_do_nothing().returning(CURSOR.c.job)
        moved = connection.execute(first, {"job": job, "schedule": schedule, "at": to}).one_or_none() is not None
    else:
        of = {"of_job": job, "of_schedule": schedule, "was": was, "at": to}
        moved = _ADVANCE.change(connection, of) == 1
    if not moved:
        raise _ClaimedError


def _write(
    connection: Connection,
    instead_of: Sequence[Occurrence],
    rows: Sequence[Occurrence],
    opening: Sequence[tuple[RunRequested, str]],
) -> None:
    """Put rows in the place of others that nobody has changed, and open runs."""
    for row in instead_of:
        was = {"was_status": row.status.value, "was_why": row.why, "was_run_id": row.run_id or ""}
        if _REMOVE.change(connection, {"of_job": row.job, "of_nominal_at": row.nominal_at, **was}) != 1:
            raise _ClaimedError
    _add(connection, rows)
    for run, text in opening:
        facts.open_run(connection, opened(run), text)


def _add(connection: Connection, rows: Sequence[Occurrence]) -> None:
    """Write rows that nobody has written."""
    adding = _adding(connection.dialect.name)
    for row in rows:
        if not list(adding.rows(connection, values(row))):
            raise _ClaimedError


@cache
def _adding(dialect: str) -> Prepared:
    return Prepared(inserting(dialect, OCCURRENCE).on_conflict_do_nothing().returning(OCCURRENCE.c.job))
