"""Statements that are executed all day: SQLAlchemy words each once, and SQLite's own driver is handed the text.

For SQLite, which is in this process, what SQLAlchemy does for each execution costs more than the execution. PostgreSQL
is asked through SQLAlchemy as everything else is.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from sqlalchemy import Boolean, Connection, Dialect, Select
from sqlalchemy.sql.dml import UpdateBase
from sqlalchemy.sql.type_api import TypeEngine

Turn = Callable[[Any], object]


@dataclass(frozen=True, slots=True)
class _Worded:
    """Hold a statement's text, and how its values are made the driver's.

    Attributes:
        values: Returns its values, in order, from all that are given.
        turns: What makes a value the driver's, by its place; most are so already.
        own: Values that the statement itself brings.
    """

    text: str
    values: Callable[[Mapping[str, Any]], Sequence[Any]]
    turns: Sequence[tuple[int, Turn]]
    own: Mapping[str, Any]

    def row(self, given: Mapping[str, Any]) -> list[Any]:
        """Return values as the driver takes them."""
        return _turned(self.values({**self.own, **given} if self.own else given), self.turns)


class Prepared:
    """Hold one statement for any number of executions, on any connection."""

    def __init__(self, statement: UpdateBase | Select[Any]) -> None:
        """Take a statement; its values come later."""
        self._statement = statement
        self._worded: dict[tuple[str, ...], _Worded] = {}
        self._turns: Sequence[tuple[int, Turn]] | None = None

    def change(self, connection: Connection, values: Mapping[str, Any]) -> int:
        """Execute it with these values, or columns that it sets, and return how many rows it has changed."""
        if connection.dialect.name != "sqlite":
            return connection.execute(self._statement, dict(values)).rowcount
        return self._cursor(connection, values).rowcount

    def change_each(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        """Execute it with each of several sets of values, all of the same names; with none, do nothing."""
        if not rows:
            return
        if connection.dialect.name != "sqlite":
            connection.execute(self._statement, [dict(row) for row in rows])
            return
        worded = self._worded_for(connection.dialect, rows[0])
        driver_of(connection).executemany(worded.text, [worded.row(row) for row in rows])

    def rows(self, connection: Connection, values: Mapping[str, Any]) -> Iterable[Sequence[Any]]:
        """Execute it with these values, and return what it finds."""
        if connection.dialect.name != "sqlite":
            return connection.execute(self._statement, dict(values))
        found = self._cursor(connection, values)
        turns = self._turns if self._turns is not None else self._results(connection.dialect)
        return [_turned(row, turns) for row in found] if turns else found

    def _cursor(self, connection: Connection, given: Mapping[str, Any]) -> sqlite3.Cursor:
        worded = self._worded.get(tuple(given)) or self._worded_for(connection.dialect, given)
        return driver_of(connection).execute(worded.text, worded.row(given))

    def _worded_for(self, dialect: Dialect, given: Mapping[str, Any]) -> _Worded:
        names = tuple(given)
        if (worded := self._worded.get(names)) is None:
            worded = self._worded[names] = self._words(dialect, names)
        return worded

    def _words(self, dialect: Dialect, names: tuple[str, ...]) -> _Worded:
        made = self._statement.compile(dialect=dialect, column_keys=list(names))
        order = made.positiontup or ()
        turns = [(place, _bind(made.binds[name].type, dialect)) for place, name in enumerate(order)]
        own = {name: made.params[name] for name in order if name not in names}
        return _Worded(made.string, _in_order(order), [(place, turn) for place, turn in turns if turn], own)

    def _results(self, dialect: Dialect) -> Sequence[tuple[int, Turn]]:
        """Return what makes the driver's value of a column ours, by its place; most are so already."""
        columns = self._statement.selected_columns if isinstance(self._statement, Select) else ()
        turns = [column.type.dialect_impl(dialect).result_processor(dialect, None) for column in columns]
        self._turns = [(place, turn) for place, turn in enumerate(turns) if turn]
        return self._turns


def _turned(row: Iterable[Any], turns: Sequence[tuple[int, Turn]]) -> list[Any]:
    values = [*row]
    for place, turn in turns:
        values[place] = turn(values[place])
    return values


def driver_of(connection: Connection) -> sqlite3.Connection:
    """Return SQLite's own connection under one of SQLAlchemy's."""
    driver: Any = connection.connection.dbapi_connection
    found: sqlite3.Connection = driver
    return found


def _in_order(names: Sequence[str]) -> Callable[[Mapping[str, Any]], Sequence[Any]]:
    """Return what picks values by their names."""
    if len(names) > 1:
        return itemgetter(*names)
    return lambda values: [values[name] for name in names]


def _bind(kind: TypeEngine[Any], dialect: Dialect) -> Turn | None:
    """Return what makes a value the driver's; a truth is one already, for SQLite's own."""
    return None if isinstance(kind, Boolean) else kind.dialect_impl(dialect).bind_processor(dialect)
