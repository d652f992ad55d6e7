"""Let schedules begin: which one a job has from now on, and where its cursor starts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from sqlalchemy import Connection, bindparam, delete, func, select

from kova_auto.core.ledger import NO_SCHEDULE, ScheduleVersion
from kova_auto.store.prepared import Prepared
from kova_auto.store.rows import inserting, values
from kova_auto.store.tables import CURSOR, VERSION

_NEWEST = Prepared(
    select(VERSION.c.schedule, VERSION.c.begun_at)
    .where(VERSION.c.job == bindparam("of_job"))
    .order_by(VERSION.c.begun_at.desc())
    .limit(1)
)
_WRONG = Prepared(delete(VERSION).where(VERSION.c.job == bindparam("of_job"), VERSION.c.begun_at >= bindparam("since")))
"""Of a clock that was set back since: what is written last counts, and it must be the newest."""
_BEGINNING = 0x6B6F7673  # "kovs": on PostgreSQL, schedules begin one after the other.


def begin(connection: Connection, versions: Sequence[ScheduleVersion]) -> None:
    """Write versions and their cursors; leave alone what its job has already."""
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(_BEGINNING)))
    for version in versions:
        newest = list(_NEWEST.rows(connection, {"of_job": version.job}))
        if newest and newest[0][0] == version.schedule:
            continue
        _WRONG.change(connection, {"of_job": version.job, "since": version.begun_at})
        dialect = connection.dialect.name
        _version(dialect).change(connection, values(version))
        if version.schedule != NO_SCHEDULE:
            at = {"job": version.job, "schedule": version.schedule, "at": version.begun_at}
            _cursor(dialect, keeps=not newest).change(connection, at)


@cache
def _version(dialect: str) -> Prepared:
    return Prepared(inserting(dialect, VERSION))


@cache
def _cursor(dialect: str, *, keeps: bool) -> Prepared:
    """Return what sets a cursor; one from before there were versions is kept."""
    statement = inserting(dialect, CURSOR)
    if keeps:
        return Prepared(statement.on_conflict_do_nothing())
    key = [column.name for column in CURSOR.primary_key]
    return Prepared(statement.on_conflict_do_update(index_elements=key, set_={"at": statement.excluded["at"]}))
