"""Keep what is to be filled in."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sqlalchemy import Connection, insert, update

from kova_auto.core.backfill import DROPPED, Backfill, BackfillStatus
from kova_auto.core.ids import JobName
from kova_auto.store.database import Database
from kova_auto.store.rows import found, selecting, values
from kova_auto.store.tables import BACKFILL, WAITING

_KEY = ("job", "nominal_at", "asked_at")
_WAITING = (
    selecting(BACKFILL, Backfill).where(WAITING).order_by(BACKFILL.c.asked_at, BACKFILL.c.nominal_at, BACKFILL.c.job)
)


class SqlBackfills:
    """Keep it in a database; see `core/backfill.py` for what each method promises."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def ask(self, items: Sequence[Backfill]) -> Sequence[Backfill]:
        """Keep items, and return them; those whose instant waits already are left out."""
        return await self._database.write(partial(_ask, items=items))

    async def waiting(self, job: JobName | None = None) -> Sequence[Backfill]:
        """Return what waits, in the order in which it is to be done."""
        statement = _WAITING if job is None else _WAITING.where(BACKFILL.c.job == job)
        return await self._database.read(partial(found, statement=statement, kind=Backfill))

    async def settle(self, item: Backfill) -> bool:
        """Write an item anew; return False where it waits no longer."""
        columns = values(item)
        mine = [BACKFILL.c[name] == columns[name] for name in _KEY]
        statement = update(BACKFILL).where(WAITING, *mine).values(columns)
        return await self._database.write(lambda connection: connection.execute(statement).rowcount == 1)

    async def drop(self, job: JobName) -> int:
        """Let a job's items wait no longer; return how many did."""
        gone = {"status": BackfillStatus.SKIPPED.value, "why": DROPPED}
        statement = update(BACKFILL).where(WAITING, BACKFILL.c.job == job).values(gone)
        return await self._database.write(lambda connection: connection.execute(statement).rowcount)


def _ask(connection: Connection, items: Sequence[Backfill]) -> Sequence[Backfill]:
    there = {(item.job, item.nominal_at) for item in found(connection, _WAITING, Backfill)}
    new = [item for item in items if (item.job, item.nominal_at) not in there]
    if new:
        connection.execute(insert(BACKFILL), [values(item) for item in new])
    return new
