"""Questions about the folded tables, and the courier's leases."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Select,
    and_,
    bindparam,
    case,
    exists,
    func,
    or_,
    select,
    tuple_,
    update,
)

from kova_auto.core.event import Previous
from kova_auto.core.fault import LASTING
from kova_auto.core.holding import Hold
from kova_auto.core.ids import DISPATCHED, DeliveryId, JobName, RunId
from kova_auto.core.owed import URGENT
from kova_auto.core.pausing import Pause
from kova_auto.core.ports import Agenda
from kova_auto.core.value import Value
from kova_auto.core.view import ApprovalRow, DeliveryRow, DueEndpoint, FamilyUse, RunRow, UsageRow
from kova_auto.store import facts
from kova_auto.store.database import Database
from kova_auto.store.prepared import Prepared
from kova_auto.store.rows import found, selecting
from kova_auto.store.tables import APPROVAL, DELIVERY, OWED, PAUSING, RUN, UNANSWERED, UNFINISHED, USAGE
from kova_auto.store.tables import DISPATCHED as OF_A_RUN

V = TypeVar("V", bound=Value)


def _free(lease_until: ColumnElement[datetime | None], now: datetime | BindParameter[datetime]) -> ColumnElement[bool]:
    return or_(lease_until.is_(None), lease_until <= now)


_RUNS = selecting(RUN, RunRow)
_APPROVALS = selecting(APPROVAL, ApprovalRow)
_DELIVERIES = selecting(DELIVERY, DeliveryRow)
_USAGE = selecting(USAGE, UsageRow)
_URGENCY = case((DELIVERY.c.cause.in_(sorted(URGENT)), 1), else_=0)
_DUE_ENDPOINTS = (
    select(DELIVERY.c.endpoint, func.count().label("due"), func.sum(_URGENCY).label("urgent"))
    .group_by(DELIVERY.c.endpoint)
    .order_by(DELIVERY.c.endpoint)
)
_NEWER = RUN.alias("newer")
_PAUSING = (
    select(RUN.c.job, RUN.c.finished_at, RUN.c.run_id, RUN.c.pauses)
    .where(PAUSING, RUN.c.finished_at.is_not(None), RUN.c.staged.is_(False))
    .where(
        ~exists().where(
            _NEWER.c.job == RUN.c.job,
            _NEWER.c.root == "",
            _NEWER.c.staged.is_(False),
            or_(_NEWER.c.pauses != "", _NEWER.c.fault.not_in(sorted(LASTING))),  # What meets the same lifts nothing.
            tuple_(_NEWER.c.finished_at, _NEWER.c.run_id) > tuple_(RUN.c.finished_at, RUN.c.run_id),
        )
    )
    .order_by(RUN.c.job)
)
_OF_NOBODY = RUN.c.root == ""
"""What no run has dispatched: jobs, schedules and their rules know nothing of children."""
_FAMILY = Prepared(_RUNS.where(RUN.c.root == bindparam("root"), OF_A_RUN).order_by(RUN.c.requested_at, RUN.c.run_id))
_OTHER = RUN.c.run_id != bindparam("besides")
_OF_FAMILY = or_(RUN.c.run_id == bindparam("root"), RUN.c.root == bindparam("root_too"))
_MEMBERS = Prepared(select(func.count()).select_from(RUN).where(_OF_FAMILY, UNFINISHED))
_RESERVED = Prepared(
    select(func.sum(RUN.c.reserved_tokens), func.sum(RUN.c.reserved_usd)).where(_OF_FAMILY, UNFINISHED, _OTHER)
)
_USED = Prepared(
    select(
        func.sum(USAGE.c.input_tokens - USAGE.c.cache_read_tokens + USAGE.c.output_tokens), func.sum(USAGE.c.cost_usd)
    )
    .select_from(USAGE)
    .where(
        or_(
            USAGE.c.run_id == bindparam("root_too"),
            USAGE.c.run_id.in_(select(RUN.c.run_id).where(RUN.c.root == bindparam("root"), OF_A_RUN)),
        )
    )
    .where(USAGE.c.run_id != bindparam("besides"), USAGE.c.at >= bindparam("since"))
)
_HOLDER = RUN.alias("holder")
_MAY_HAVE_IT = and_(RUN.c.waits_for != "", ~exists().where(_HOLDER.c.run_id == RUN.c.waits_for, _HOLDER.c.holds != ""))
_READY = Prepared(
    select(RUN.c.run_id)
    .where(UNFINISHED, or_(RUN.c.resting.is_(False), RUN.c.wake_at <= bindparam("now"), _MAY_HAVE_IT))
    .where(_free(RUN.c.lease_until, bindparam("now")))
    .order_by(RUN.c.requested_at, RUN.c.run_id)
    .limit(bindparam("limit"))
)
_RUN_WAKES = Prepared(select(func.min(RUN.c.wake_at)).where(UNFINISHED, RUN.c.wake_at > bindparam("now")))
_DELIVERY_WAKES = Prepared(select(func.min(DELIVERY.c.next_at)).where(OWED, DELIVERY.c.next_at > bindparam("now")))
_ONE_RUN = Prepared(_RUNS.where(RUN.c.run_id == bindparam("id")))
_UNFINISHED_OF = Prepared(
    # Asked for each instant that falls due. In order it would be found by an index that walks all that has ended.
    _RUNS.where(RUN.c.job == bindparam("job"), RUN.c.finished_at.is_(None), UNFINISHED, _OF_NOBODY)
)
_LAST_RUNS = Prepared(
    _RUNS.where(RUN.c.job == bindparam("job"), RUN.c.finished_at.is_not(None), RUN.c.staged.is_(False), _OF_NOBODY)
    .where(RUN.c.run_id != bindparam("before"))
    .order_by(RUN.c.finished_at.desc(), RUN.c.run_id.desc())
    .limit(bindparam("limit"))
)
_PREVIOUS = Prepared(
    select(RUN.c.outcome, RUN.c.answer_hash)
    .where(RUN.c.job == bindparam("job"), RUN.c.finished_at.is_not(None), RUN.c.staged.is_(False), _OF_NOBODY)
    .where(RUN.c.run_id != bindparam("before"))
    .order_by(RUN.c.finished_at.desc(), RUN.c.run_id.desc())
    .limit(1)
)
_ENDED = Prepared(
    _RUNS.where(RUN.c.finished_at > bindparam("since"), RUN.c.staged.is_(False), _OF_NOBODY)
    .order_by(RUN.c.finished_at.desc(), RUN.c.run_id.desc())
    .limit(bindparam("limit"))
)
_SPENT = Prepared(
    select(func.sum(USAGE.c.cost_usd)).where(USAGE.c.job == bindparam("job"), USAGE.c.at >= bindparam("since"))
)
_EVER = datetime(1970, 1, 1, tzinfo=UTC)
_PAST_ALL_IDS = "\U0010ffff"


class SqlViews:
    """Answer from a database's tables; see `core/ports.py` for what each method promises."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def runs(self, *, job: JobName | None = None, unfinished: bool = False, limit: int = 50) -> Sequence[RunRow]:
        """Return the runs that no other has dispatched, newest first."""
        if job is not None and unfinished:
            rows = await self._rows(_UNFINISHED_OF, RunRow, job=job)
            return sorted(rows, key=lambda row: (row.requested_at, row.run_id), reverse=True)[:limit]
        statement = _RUNS.where(_OF_NOBODY).order_by(RUN.c.requested_at.desc(), RUN.c.run_id.desc()).limit(limit)
        if job is not None:
            statement = statement.where(RUN.c.job == job)
        if unfinished:
            statement = statement.where(UNFINISHED)
        return await self._all(statement, RunRow)

    async def run(self, run_id: RunId) -> RunRow | None:
        """Return one run's row."""
        return _one(await self._rows(_ONE_RUN, RunRow, id=run_id))

    async def matching(self, prefix: str) -> Sequence[RunId]:
        """Return the ids that begin with a text, at most 20, newest first; of children where it names a parent."""
        wanted = RUN.c.root != "" if DISPATCHED in prefix else _OF_NOBODY
        return await self._ids(
            select(RUN.c.run_id)
            .where(RUN.c.run_id >= prefix, RUN.c.run_id <= prefix + _PAST_ALL_IDS, wanted)
            .order_by(RUN.c.requested_at.desc(), RUN.c.run_id.desc())
            .limit(20)
        )

    async def agenda(self, now: datetime, limit: int = 1000) -> Agenda:
        """Return which runs can go on now, at most so many, and when the next will."""
        return await self._database.look(partial(_agenda, now=now, limit=limit))

    async def next_wake(self, now: datetime) -> datetime | None:
        """Return the next instant, after `now`, at which a resting run goes on or a delivery is tried again."""
        return await self._database.read(partial(_earliest, wakes=(_RUN_WAKES, _DELIVERY_WAKES), now=now))

    async def previous(self, job: JobName, before: RunId) -> Previous | None:
        """Return what came of the job's last finished, not staged run other than `before`."""
        return await self._database.look(partial(_previous, job=job, before=before))

    async def last_runs(self, job: JobName, *, before: RunId | None = None, limit: int = 1) -> Sequence[RunRow]:
        """Return the job's finished, not staged runs other than `before`, newest end first."""
        return await self._rows(_LAST_RUNS, RunRow, job=job, before=before or "", limit=limit)

    async def ended(self, since: datetime, *, limit: int = 1000) -> Sequence[RunRow]:
        """Return the not staged runs that have ended since an instant, excluded: the newest `limit`, oldest first."""
        return [*await self._rows(_ENDED, RunRow, since=since, limit=limit)][::-1]

    async def meant_for(
        self, job: JobName | None, since: datetime, until: datetime, *, limit: int = 10_000
    ) -> Sequence[RunRow]:
        """Return the not staged runs that were meant for an instant of a stretch, `until` excluded, oldest first."""
        at = RUN.c.nominal_at
        statement = _RUNS.where(at >= since, at < until, RUN.c.staged.is_(False), _OF_NOBODY)
        if job is not None:
            statement = statement.where(RUN.c.job == job)
        statement = statement.order_by(at, RUN.c.requested_at, RUN.c.run_id).limit(limit)
        return await self._database.read(partial(found, statement=statement, kind=RunRow))

    async def descendants(self, root: RunId) -> Sequence[RunRow]:
        """Return the runs that a run, its children and so on have dispatched, oldest first."""
        return await self._rows(_FAMILY, RunRow, root=root)

    async def family_use(self, root: RunId, besides: RunId, since: datetime | None) -> FamilyUse:
        """Return what the runs of a family, but one, have used since an instant, and how many have not finished."""
        return await self._database.look(partial(_family_use, root=root, besides=besides, since=since))

    async def holds(self) -> Sequence[Hold]:
        """Return the runs that have a workspace to themselves."""
        return await self._database.look(facts.holds)

    async def pausing(self) -> Sequence[Pause]:
        """Return, of each job whose schedule rests since a run ended, what that run says; a later end may lift it."""
        return await self._database.read(_pausing)

    async def usage(
        self, *, job: JobName | None = None, run_id: RunId | None = None, since: datetime | None = None
    ) -> Sequence[UsageRow]:
        """Return what calls of models have used, oldest first."""
        wanted = {"job": job, "run_id": run_id}
        asked = [USAGE.c[name] == value for name, value in wanted.items() if value is not None]
        if since is not None:
            asked.append(USAGE.c.at >= since)
        return await self._all(_USAGE.where(*asked).order_by(USAGE.c.at, USAGE.c.run_id, USAGE.c.seq), UsageRow)

    async def spent_usd(self, job: JobName, since: datetime) -> float:
        """Return what a job's calls of models have cost since an instant (included), as far as prices are known."""
        return await self._database.look(partial(_spent_usd, job=job, since=since))

    async def approvals(self, *, open_only: bool = True, limit: int = 100) -> Sequence[ApprovalRow]:
        """Return calls that need or needed a person, newest first."""
        newest = (APPROVAL.c.requested_at.desc(), APPROVAL.c.run_id.desc(), APPROVAL.c.call_id.desc())
        statement = _APPROVALS.order_by(*newest).limit(limit)
        return await self._all(statement.where(UNANSWERED) if open_only else statement, ApprovalRow)

    async def deliveries(
        self, *, status: str | None = None, endpoint: str | None = None, run_id: RunId | None = None, limit: int = 100
    ) -> Sequence[DeliveryRow]:
        """Return duties to tell, newest first."""
        wanted = {"status": status, "endpoint": endpoint, "run_id": run_id}
        asked = [DELIVERY.c[name] == value for name, value in wanted.items() if value is not None]
        newest = (DELIVERY.c.owed_at.desc(), DELIVERY.c.delivery_id.desc())
        return await self._all(_DELIVERIES.where(*asked).order_by(*newest).limit(limit), DeliveryRow)

    async def delivery(self, delivery_id: DeliveryId) -> DeliveryRow | None:
        """Return one duty."""
        return _one(await self._all(_DELIVERIES.where(DELIVERY.c.delivery_id == delivery_id), DeliveryRow))

    async def due_endpoints(self, now: datetime, *, run_id: RunId | None = None) -> Sequence[DueEndpoint]:
        """Return the endpoints that are owed something now, or by one run alone, by name."""
        asked = [_due(now)] if run_id is None else [_due(now), DELIVERY.c.run_id == run_id]
        return await self._all(_DUE_ENDPOINTS.where(*asked), DueEndpoint)

    async def due_deliveries(
        self, now: datetime, *, run_id: RunId | None = None, endpoint: str | None = None, limit: int = 100
    ) -> Sequence[DeliveryRow]:
        """Return duties to be done now and not leased: what somebody waits for first, and then the oldest."""
        wanted = {"run_id": run_id, "endpoint": endpoint}
        asked = [DELIVERY.c[name] == value for name, value in wanted.items() if value is not None]
        order = (_URGENCY.desc(), DELIVERY.c.owed_at, DELIVERY.c.delivery_id)
        return await self._all(_DELIVERIES.where(_due(now), *asked).order_by(*order).limit(limit), DeliveryRow)

    async def lease_delivery(self, delivery_id: DeliveryId, *, owner: str, now: datetime, lease: timedelta) -> bool:
        """Take one duty; False where another has it, or it is not to be done now."""
        statement = (
            update(DELIVERY)
            .where(DELIVERY.c.delivery_id == delivery_id, _due(now))
            .values(lease_owner=owner, lease_until=now + lease)
        )
        return await self._database.write(lambda connection: connection.execute(statement).rowcount) == 1

    async def release_delivery(self, delivery_id: DeliveryId, *, owner: str) -> None:
        """Give a duty back."""
        statement = (
            update(DELIVERY)
            .where(DELIVERY.c.delivery_id == delivery_id, DELIVERY.c.lease_owner == owner)
            .values(lease_owner=None, lease_until=None)
        )
        await self._database.write(lambda connection: connection.execute(statement).rowcount)

    async def _all(self, statement: Select[Any], kind: type[V]) -> list[V]:
        return await self._database.read(partial(found, statement=statement, kind=kind))

    async def _rows(self, statement: Prepared, kind: type[V], **values: object) -> list[V]:
        names = tuple(kind.model_fields)

        def work(connection: Connection) -> list[V]:
            found = statement.rows(connection, values)
            return [kind.model_validate(dict(zip(names, row, strict=True))) for row in found]

        return await self._database.look(work)

    async def _ids(self, statement: Select[Any]) -> list[RunId]:
        return await self._database.read(lambda connection: [RunId(run_id) for run_id in connection.scalars(statement)])


def _pausing(connection: Connection) -> list[Pause]:
    return [
        Pause(job=JobName(row.job), at=row.finished_at, by=f"run {row.run_id}", reason=row.pauses)
        for row in connection.execute(_PAUSING)
    ]


def _agenda(connection: Connection, now: datetime, limit: int) -> Agenda:
    found = _READY.rows(connection, {"now": now, "limit": limit})
    ready = tuple(RunId(run_id) for (run_id,) in found)
    return Agenda(ready, _earliest(connection, (_RUN_WAKES,), now))


def _earliest(connection: Connection, wakes: Sequence[Prepared], now: datetime) -> datetime | None:
    instants = [instant for wake in wakes for (instant,) in wake.rows(connection, {"now": now}) if instant]
    return min(instants, default=None)


def _spent_usd(connection: Connection, job: JobName, since: datetime) -> float:
    ((spent,),) = _SPENT.rows(connection, {"job": job, "since": since})
    return spent or 0.0


def _previous(connection: Connection, job: JobName, before: RunId) -> Previous | None:
    found = list(_PREVIOUS.rows(connection, {"job": job, "before": before}))
    return Previous(outcome=found[0][0], answer_hash=found[0][1]) if found and found[0][0] else None


def _family_use(connection: Connection, root: RunId, besides: RunId, since: datetime | None) -> FamilyUse:
    members = {"root": root, "root_too": root}
    others = {**members, "besides": besides}
    ((count,),) = _MEMBERS.rows(connection, members)
    ((reserved_tokens, reserved_usd),) = _RESERVED.rows(connection, others)
    ((tokens, cost_usd),) = _USED.rows(connection, {**others, "since": since or _EVER})
    return FamilyUse(
        tokens=tokens or 0,
        cost_usd=cost_usd or 0.0,
        members=count,
        reserved_tokens=reserved_tokens or 0,
        reserved_usd=reserved_usd or 0.0,
    )


def _due(now: datetime) -> ColumnElement[bool]:
    waited = or_(DELIVERY.c.next_at.is_(None), DELIVERY.c.next_at <= now)
    return and_(OWED, waited, _free(DELIVERY.c.lease_until, now))


def _one(rows: Sequence[V]) -> V | None:
    return rows[0] if rows else None
