"""Fold every run anew: to write the views from nothing, or to see that they are what the journal says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import Connection, Table, delete, select, union

from kova_auto.core.ids import RunId
from kova_auto.core.owed import Cause
from kova_auto.core.run import RunState, fold
from kova_auto.core.value import Value
from kova_auto.core.view import (
    ApprovalRow,
    DeliveryRow,
    RunRow,
    UsageRow,
    approval_rows,
    delivery_rows,
    run_row,
    usage_rows,
)
from kova_auto.store import alerts, facts
from kova_auto.store.database import Database
from kova_auto.store.rows import save, selecting, values
from kova_auto.store.tables import APPROVAL, DELIVERY, EVENT, RUN, USAGE

Key = tuple[str | int, ...]
Rows = dict[Key, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class _View:
    """Hold one view: its table, and the fold that gives a run's rows in it."""

    table: Table
    kind: type[Value]
    fold: Callable[[RunState], Sequence[Value]]

    def key(self, row: dict[str, Any]) -> Key:
        """Return what tells rows apart."""
        return tuple(row[column.name] for column in self.table.primary_key)

    def wanted(self, state: RunState | None) -> Rows:
        """Return what the journal says."""
        rows = map(values, self.fold(state) if state else ())
        return {self.key(row): row for row in rows}

    def held(self, connection: Connection, run_id: RunId) -> Rows:
        """Return what the table says."""
        statement = selecting(self.table, self.kind).where(self.table.c.run_id == run_id)
        rows = map(dict, connection.execute(statement).mappings())
        return {self.key(row): row for row in rows}


_VIEWS = (
    _View(RUN, RunRow, lambda state: [run_row(state)]),
    _View(APPROVAL, ApprovalRow, approval_rows),
    _View(DELIVERY, DeliveryRow, delivery_rows),
    _View(USAGE, UsageRow, usage_rows),
)


async def rebuild(database: Database) -> int:
    """Write the views of every run anew, one transaction for each; leases stay. Return how many runs there are."""
    runs = await database.read(_runs)
    for run_id in runs:
        await database.write(partial(_rebuild, run_id=run_id))
    await database.write(alerts.rebuild)
    return len(runs)


async def compare(database: Database) -> list[str]:
    """Return one line for each row that is not what the journal says; nothing where all is well."""
    of_runs = [
        line
        for run_id in await database.read(_runs)
        for line in await database.read(partial(_differences, run_id=run_id))
    ]
    return [*of_runs, *await database.read(alerts.differences)]


def _runs(connection: Connection) -> list[RunId]:
    """Return the runs that the journal or any view knows."""
    of_runs = select(DELIVERY.c.run_id).where(DELIVERY.c.cause != Cause.ALERT.value)
    known = union(of_runs, *(select(table.c.run_id) for table in (EVENT, RUN, APPROVAL, USAGE)))
    return sorted(RunId(run_id) for (run_id,) in connection.execute(known))


def _fold(connection: Connection, run_id: RunId) -> RunState | None:
    found = facts.events(connection, run_id)
    return fold(event for _, event in found) if found else None


def _rebuild(connection: Connection, run_id: RunId) -> None:
    connection.execute(select(RUN.c.run_id).where(RUN.c.run_id == run_id).with_for_update())
    state = _fold(connection, run_id)
    for view in _VIEWS:
        for stray in view.held(connection, run_id).keys() - view.wanted(state).keys():
            names = [column.name for column in view.table.primary_key]
            connection.execute(delete(view.table).filter_by(**dict(zip(names, stray, strict=True))))
        if state:
            head = {"head_seq": state.seq, "epoch": state.epoch} if view.table is RUN else {}
            save(connection, view.table, view.fold(state), **head)


def _differences(connection: Connection, run_id: RunId) -> list[str]:
    state = _fold(connection, run_id)
    lines = []
    for view in _VIEWS:
        wanted, held = view.wanted(state), view.held(connection, run_id)
        for key in sorted(wanted.keys() | held.keys()):
            where = f"{view.table.name} {' '.join(map(str, key))}"
            if key not in held:
                lines.append(f"{where}: the row is missing")
            elif key not in wanted:
                lines.append(f"{where}: the journal knows nothing of it")
            else:
                lines += [
                    f"{where}: {name} is {held[key][name]!r}, the journal says {value!r}"
                    for name, value in wanted[key].items()
                    if held[key][name] != value
                ]
    return lines
