"""Open a journal with all that belongs to it: facts, views, ledger and blobs, in one database."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

from kova_auto.core.errors import SettingsError
from kova_auto.store import leases, rebuild
from kova_auto.store.alerts import SqlAlerts
from kova_auto.store.backfills import SqlBackfills
from kova_auto.store.database import Database
from kova_auto.store.healths import SqlHealths
from kova_auto.store.hooks import SqlHooks
from kova_auto.store.journal import Guard, SqlJournal
from kova_auto.store.ledger import SqlLedger
from kova_auto.store.postgres import PostgresDatabase
from kova_auto.store.sqlite import SqliteDatabase, Synchronous
from kova_auto.store.views import SqlViews

_POSTGRES = ("postgresql", "postgres")


@dataclass(frozen=True, slots=True)
class Store:
    """Hold the ports that one database answers; whoever opened it closes it."""

    journal: SqlJournal
    views: SqlViews
    ledger: SqlLedger
    backfills: SqlBackfills
    healths: SqlHealths
    alerts: SqlAlerts
    hooks: SqlHooks
    database: Database

    async def end_leases(self, now: datetime) -> None:
        """End what earlier processes held; only where none can be alive, as after taking the owner's lock.

        What was cut off is then taken up at once, and not when its lease would have run out.
        """
        await self.database.write(partial(leases.end_all, now=now))

    async def rebuild_views(self) -> int:
        """Write every view anew from the journal, and return how many runs it holds; safe while others write."""
        return await rebuild.rebuild(self.database)

    async def compare_views(self) -> list[str]:
        """Return one line for each row of a view that is not what the journal says."""
        return await rebuild.compare(self.database)

    async def close(self) -> None:
        """Write what waits and let go of the database; safe to call twice."""
        await asyncio.to_thread(self.database.close)


def open_store(
    place: str | Path, *, create: bool, guard: Guard = str, synchronous: Synchronous = Synchronous.FULL
) -> Store:
    """Open the journal at a path (SQLite) or a `postgresql://` URL, and bring its tables up to date.

    Args:
        place: Where it is. For SQLite the caller holds the owner's lock of the directory.
        create: Make it where there is none.
        guard: The last look at each event's JSON before it is written; see `SqlJournal`.
        synchronous: How SQLite commits; PostgreSQL's server says that itself.

    Raises:
        SettingsError: `place` is neither, or the driver of PostgreSQL is not installed.
        JournalError: There is none, or it cannot be used: the message says why and what to do.
    """
    database = _database(place, create=create, synchronous=synchronous)
    ledger, backfills = SqlLedger(database, guard), SqlBackfills(database)
    healths, alerts, hooks = SqlHealths(database, guard), SqlAlerts(database, guard), SqlHooks(database, guard)
    return Store(SqlJournal(database, guard), SqlViews(database), ledger, backfills, healths, alerts, hooks, database)


def _database(place: str | Path, *, create: bool, synchronous: Synchronous) -> Database:
    scheme, separator, _ = str(place).partition("://")
    if not separator:
        return SqliteDatabase(Path(place), create=create, synchronous=synchronous)
    if scheme.partition("+")[0] in _POSTGRES:
        return PostgresDatabase(str(place), create=create)
    msg = f"wanted a path or a postgresql:// URL, found one that begins with {scheme}://"
    raise SettingsError(msg, key="database")
