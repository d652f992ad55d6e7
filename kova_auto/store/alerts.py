"""Keep alerts: what they say, and what came of telling it; each write is one transaction, or part of the ledger's."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar, cast

from pydantic import ValidationError
from sqlalchemy import Connection, delete, insert, select

from kova_auto.core.delivery.alert import (
    AlertFact,
    AlertRaised,
    AlertState,
    Telling,
    alert_rows,
    fold,
    load,
    raised,
    told,
)
from kova_auto.core.errors import JournalError
from kova_auto.core.ids import RunId
from kova_auto.core.owed import Cause
from kova_auto.core.view import DeliveryRow
from kova_auto.store.database import Database
from kova_auto.store.rows import found, inserting, save, selecting
from kova_auto.store.tables import ALERT, DELIVERY

F = TypeVar("F", bound=AlertFact)
_ROWS = selecting(DELIVERY, DeliveryRow).where(DELIVERY.c.cause == Cause.ALERT.value)


class SqlAlerts:
    """Keep alerts in a database; see `core/delivery/alert.py` for what each method promises."""

    def __init__(self, database: Database, guard: Callable[[str], str]) -> None:
        self._database, self._guard = database, guard

    async def alert(self, alert_id: RunId) -> list[AlertFact]:
        """Return an alert's facts, oldest first; empty where there is none of this id."""
        return await self._database.read(partial(_facts, alert_id=alert_id))

    async def tell(self, alert_id: RunId, fact: Telling) -> AlertState:
        """Write one more fact about an alert's telling."""
        fact, text = guarded_fact(fact, self._guard)

        def work(connection: Connection) -> AlertState:
            state = _locked(connection, alert_id)
            after = told(state, fact)
            _write(connection, alert_id, after.seq, fact, text)
            before = alert_rows(state)
            save(connection, DELIVERY, (row for row in alert_rows(after) if row not in before))
            return after

        return await self._database.write(work)


def guarded_fact(fact: F, guard: Callable[[str], str]) -> tuple[F, str]:
    """Return a fact and its JSON as the guard leaves it, the two of them equal.

    Raises:
        JournalError: What the guard took out was no text: what is left is no fact.
    """
    text = fact.model_dump_json()
    clean = guard(text)
    if clean == text:
        return fact, text
    try:
        return cast("F", type(fact).model_validate_json(clean)), clean
    except ValidationError:  # Not chained: it would show what the guard took out.
        msg = f"{fact.kind} was not written: it held something secret where no text can take its place"
        raise JournalError(msg) from None


def raise_alerts(connection: Connection, facts: Iterable[tuple[AlertRaised, str]]) -> None:
    """Raise alerts, in a transaction of the caller's; one that is there already is left as it is."""
    for fact, text in facts:
        statement = inserting(connection.dialect.name, ALERT).on_conflict_do_nothing().returning(ALERT.c.seq)
        state = raised(fact)
        row = {"alert_id": fact.alert_id, "seq": state.seq, "kind": fact.kind, "at": fact.at, "body": text}
        if connection.execute(statement, row).one_or_none() is not None:
            save(connection, DELIVERY, alert_rows(state))


def rebuild(connection: Connection) -> None:
    """Write anew what alerts owe; leases stay."""
    wanted = _wanted(connection)
    for row in found(connection, _ROWS, DeliveryRow):
        if row.delivery_id not in {one.delivery_id for one in wanted}:
            connection.execute(delete(DELIVERY).where(DELIVERY.c.delivery_id == row.delivery_id))
    save(connection, DELIVERY, wanted)


def differences(connection: Connection) -> list[str]:
    """Return one line for each row of what alerts owe that is not what their facts say."""
    wanted = {row.delivery_id: row for row in _wanted(connection)}
    held = {row.delivery_id: row for row in found(connection, _ROWS, DeliveryRow)}
    return [
        f"delivery {key}: the row is {held.get(key)!r}, the alert's facts say {wanted.get(key)!r}"
        for key in sorted(wanted.keys() | held.keys())
        if wanted.get(key) != held.get(key)
    ]


def _wanted(connection: Connection) -> list[DeliveryRow]:
    ids = connection.scalars(select(ALERT.c.alert_id).distinct().order_by(ALERT.c.alert_id)).all()
    return [row for alert_id in ids for row in alert_rows(fold(_facts(connection, RunId(alert_id))))]


def _facts(connection: Connection, alert_id: RunId) -> list[AlertFact]:
    statement = select(ALERT.c.body).where(ALERT.c.alert_id == alert_id).order_by(ALERT.c.seq)
    return [load(body) for body in connection.scalars(statement)]


def _locked(connection: Connection, alert_id: RunId) -> AlertState:
    """Fold an alert, and let nobody else write a fact of it until this transaction has ended."""
    lock = select(ALERT.c.seq).where(ALERT.c.alert_id == alert_id).order_by(ALERT.c.seq).limit(1).with_for_update()
    if connection.execute(lock).one_or_none() is None:
        msg = f"the journal holds no alert {alert_id}"
        raise JournalError(msg)
    return fold(_facts(connection, alert_id))


def _write(connection: Connection, alert_id: RunId, seq: int, fact: AlertFact, text: str) -> None:
    row = {"alert_id": alert_id, "seq": seq, "kind": fact.kind, "at": fact.at, "body": text}
    connection.execute(insert(ALERT), row)
