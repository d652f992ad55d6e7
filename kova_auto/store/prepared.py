"""Statements that a journal runs all day: SQLAlchemy words each once, and SQLite's own driver is handed the text.

For SQLite, which is in this process, what SQLAlchemy does for each execution costs more than the execution. PostgreSQL
is asked through SQLAlchemy as everything else is.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol, cast

from sqlalchemy import Connection, Dialect, Select
from sqlalchemy.sql.dml import UpdateBase
from sqlalchemy.sql.type_api import TypeEngine

Bind = Callable[[Any], object]


class Done(Protocol):
    """Be what both hand back."""

    @property
    def rowcount(self) -> int:
        """Return how many rows the statement has changed."""

    def __iter__(self) -> Iterator[Any]:
        """Yield rows, as the driver gives their columns."""


class Prepared:
    """Hold one statement for any number of executions, on any connection."""

    def __init__(self, statement: UpdateBase | Select[Any]) -> None:
        """Take a statement whose rows hold numbers and text only: they come as the driver gives them."""
        self._statement = statement
        self._worded: dict[tuple[str, ...], tuple[str, list[tuple[str, Bind | None]]]] = {}

    def run(self, connection: Connection, values: Mapping[str, Any]) -> Done:
        """Execute it with the values of its parameters, or of the columns that it sets."""
        if connection.dialect.name != "sqlite":
            return connection.execute(self._statement, dict(values))
        names = tuple(values)
        if names not in self._worded:
            self._worded[names] = self._words(connection.dialect, names)
        text, binds = self._worded[names]
        return driver_of(connection).execute(
            text, [bind(values[name]) if bind else values[name] for name, bind in binds]
        )

    def _words(self, dialect: Dialect, names: tuple[str, ...]) -> tuple[str, list[tuple[str, Bind | None]]]:
        """Return the text, and the values in its order with what turns each into the driver's."""
        compiled = self._statement.compile(dialect=dialect, column_keys=list(names))
        order = compiled.positiontup or []
        return compiled.string, [(name, _bind(compiled.binds[name].type, dialect)) for name in order]


def driver_of(connection: Connection) -> sqlite3.Connection:
    """Return SQLite's own connection under one of SQLAlchemy's."""
    return cast("sqlite3.Connection", connection.connection.driver_connection)


def _bind(kind: TypeEngine[Any], dialect: Dialect) -> Bind | None:
    return kind.dialect_impl(dialect).bind_processor(dialect)
