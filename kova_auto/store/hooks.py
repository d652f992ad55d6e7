"""Keep the requests of webhooks that start jobs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from sqlalchemy import Connection, and_, delete, exists, func, or_, select, update

from kova_auto.core.errors import JournalBusyError
from kova_auto.core.ids import JobName
from kova_auto.core.inbound.hook import KEPT_FOR, HookRequest, HookRow, HookStatus, Kept
from kova_auto.store.database import Database
from kova_auto.store.journal import Guard
from kova_auto.store.rows import found, inserting, selecting, values
from kova_auto.store.tables import ACCEPTED, HOOK, OCCURRENCE

_TICK: Final = timedelta(microseconds=1)
_AT_ONCE: Final = 1_000
_REQUESTS = selecting(HOOK, HookRequest)
_OWN = and_(OCCURRENCE.c.job == HOOK.c.job, OCCURRENCE.c.nominal_at == HOOK.c.received_at)
_WAITING = _REQUESTS.where(ACCEPTED, ~exists().where(_OWN)).order_by(HOOK.c.received_at).limit(_AT_ONCE)
_ROWS = (
    select(
        *(HOOK.c[name] for name in HookRequest.model_fields),
        func.coalesce(OCCURRENCE.c.status, "").label("became"),
        func.coalesce(OCCURRENCE.c.why, "").label("became_why"),
        OCCURRENCE.c.run_id,
    )
    .select_from(HOOK.outerjoin(OCCURRENCE, _OWN))
    .order_by(HOOK.c.received_at.desc(), HOOK.c.job)
)


class SqlHooks:
    """Keep them in a database; see `core/inbound/hook.py` for what each method promises."""

    def __init__(self, database: Database, guard: Guard) -> None:
        """Take the database, and what has the last look at each text that somebody else wrote."""
        self._database, self._guard = database, guard

    async def keep(self, request: HookRequest, ids: Sequence[str], *, by_body: bool) -> Kept:
        """Keep a request, unless one like it is there; the instant may become a later one."""
        texts = {name: self._guard(getattr(request, name)) for name in ("event", "actor", "why", "inputs")}
        safe = request.model_copy(update=texts)
        return await self._database.write(partial(_keep, request=safe, ids=ids, by_body=by_body))

    async def waiting(self) -> Sequence[HookRequest]:
        """Return what was accepted and has no row in the ledger yet, oldest first."""
        return await self._database.read(partial(found, statement=_WAITING, kind=HookRequest))

    async def settle(self, requests: Sequence[HookRequest]) -> None:
        """Write down that requests have their rows, so that nobody looks again."""
        if requests:
            ids = [request.hook_id for request in requests]
            settled = update(HOOK).where(HOOK.c.hook_id.in_(ids), ACCEPTED).values(status=HookStatus.SETTLED.value)
            await self._database.write(lambda connection: connection.execute(settled))

    async def at(self, job: JobName, received_at: datetime) -> HookRequest | None:
        """Return the request of an instant of a job."""
        one = _REQUESTS.where(HOOK.c.job == job, HOOK.c.received_at == received_at)
        return next(iter(await self._database.read(partial(found, statement=one, kind=HookRequest))), None)

    async def rows(self, job: JobName | None = None, *, like: str = "", limit: int = 100) -> Sequence[HookRow]:
        """Return requests with what became of them, newest first; `like` begins our id."""
        statement = _ROWS if job is None else _ROWS.where(HOOK.c.job == job)
        if like:
            statement = statement.where(HOOK.c.hook_id.startswith(like, autoescape=True))
        return await self._database.read(partial(found, statement=statement.limit(limit), kind=HookRow))


def _keep(connection: Connection, request: HookRequest, ids: Sequence[str], *, by_body: bool) -> Kept:
    if earlier := _known(connection, request, ids, by_body=by_body):
        return Kept(request=earlier, is_new=False)
    last: datetime | None = connection.execute(
        select(func.max(HOOK.c.received_at)).where(HOOK.c.job == request.job)
    ).scalar_one()
    at = request.received_at if last is None else max(request.received_at, last + _TICK)
    kept = request.model_copy(update={"received_at": at})
    adding = inserting(connection.dialect.name, HOOK).on_conflict_do_nothing().returning(HOOK.c.hook_id)
    if connection.execute(adding, values(kept)).one_or_none() is not None:
        _forget(connection, at - KEPT_FOR)
        return Kept(request=kept, is_new=True)
    if earlier := _known(connection, request, ids, by_body=by_body):  # Another service was first.
        return Kept(request=earlier, is_new=False)
    msg = f"another request of {request.job} came at the very same instant"
    raise JournalBusyError(msg)


def _known(connection: Connection, request: HookRequest, ids: Sequence[str], *, by_body: bool) -> HookRequest | None:
    same: Any = HOOK.c.delivery_id.in_(ids)
    if by_body:
        same = or_(same, HOOK.c.digest == request.digest)
    mine = _REQUESTS.where(HOOK.c.job == request.job, HOOK.c.source == request.source, same)
    every = found(connection, mine.order_by(HOOK.c.received_at).limit(_AT_ONCE), HookRequest)
    return next((one for one in every if one.delivery_id in ids), None) or next(iter(every), None)


def _forget(connection: Connection, before: datetime) -> None:
    """Remove what no sender repeats any more, unless its run is still to come."""
    waits = exists().where(_OWN, OCCURRENCE.c.status == "pending")
    connection.execute(
        delete(HOOK).where(HOOK.c.received_at < before, HOOK.c.status != HookStatus.ACCEPTED.value, ~waits)
    )
