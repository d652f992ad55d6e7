"""Write the core's rows into tables and read them back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Connection, Select, Table, select
from sqlalchemy.dialects import sqlite

from kova_auto.core.value import Value

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql

    Insert = sqlite.Insert | postgresql.Insert

V = TypeVar("V", bound=Value)


def values(row: Value) -> dict[str, Any]:
    """Return the columns of a row, closed sets as their text."""
    return plain(row.__dict__)


def plain(columns: Mapping[str, object]) -> dict[str, Any]:
    """Return columns, closed sets as their text."""
    return {name: str(value) if isinstance(value, StrEnum) else value for name, value in columns.items()}


def changed(before: Iterable[object], after: Mapping[str, object]) -> dict[str, Any]:
    """Return the columns in which a row differs from what an earlier one of its kind held, as they are afterwards."""
    columns = zip(after.items(), before, strict=True)
    return {name: str(value) if isinstance(value, StrEnum) else value for (name, value), was in columns if was != value}


def save(connection: Connection, table: Table, rows: Iterable[Value], **operational: object) -> None:
    """Write rows of one kind, new or anew; operational columns that are not named stay as they are."""
    if columns := [{**values(row), **operational} for row in rows]:
        connection.execute(_upsert(connection.dialect.name, table, tuple(columns[0])), columns)


@cache
def _upsert(dialect: str, table: Table, columns: tuple[str, ...]) -> Insert:
    statement = inserting(dialect, table)
    key = [column.name for column in table.primary_key]
    new = {name: statement.excluded[name] for name in columns if name not in key}
    return statement.on_conflict_do_update(index_elements=key, set_=new)


def inserting(dialect: str, table: Table) -> Insert:
    """Return an insert that can be told what to do on a conflict, which plain SQL's cannot."""
    if dialect == "sqlite":
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql

    return postgresql.insert(table)


def selecting(table: Table, kind: type[Value]) -> Select[Any]:
    """Return a select of the columns that make up a row of this kind."""
    return select(*(table.c[name] for name in kind.model_fields))


def found(connection: Connection, statement: Select[Any], kind: type[V]) -> list[V]:
    """Return what a statement of `selecting` finds, as rows of this kind."""
    return [kind.model_validate(dict(row)) for row in connection.execute(statement).mappings()]
