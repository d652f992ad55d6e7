"""Which tables a database must have, and how it gets them.

An empty database gets today's tables at once; a test proves that the migrations lead to the same. Alembic is imported
only where there is something to migrate: opening a journal that is up to date costs one look.
"""

from __future__ import annotations

from sqlalchemy import Column, Connection, MetaData, PrimaryKeyConstraint, String, Table, func, insert, inspect, select

from kova_auto.core.errors import JournalError
from kova_auto.store.tables import METADATA

REVISION = "0012"
"""The newest migration; `migrations/versions` ends with it."""

VERSION_TABLE = "schema_version"
_VERSION = Table(
    VERSION_TABLE,
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name=f"{VERSION_TABLE}_pkc"),
)
_LOCK = 0x6B6F7661  # "kova": several processes may open one PostgreSQL database at once.


def revision_of(connection: Connection, place: str) -> str | None:
    """Return the revision of the tables that are there, None where the database is empty; changes nothing.

    Raises:
        JournalError: The tables are somebody else's.
    """
    names = set(inspect(connection).get_table_names())
    if VERSION_TABLE in names:
        return connection.execute(select(_VERSION.c.version_num)).scalar_one_or_none() or "base"
    strangers = names if connection.dialect.name == "sqlite" else names & METADATA.tables.keys()
    if strangers:
        msg = f"the database {place} is no journal of kova-auto: it holds other tables ({min(strangers)}, …)"
        raise JournalError(msg)
    return None


def ensure_schema(connection: Connection, place: str) -> None:
    """Give the database today's tables; the caller commits.

    Raises:
        JournalError: They are of a newer version, or somebody else's.
    """
    if revision_of(connection, place) == REVISION:
        return
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))
    match revision_of(connection, place):
        case None:
            create_tables(connection)
        case found if found != REVISION:
            from kova_auto.store.migrate import upgrade

            upgrade(connection, found, place)


def create_tables(connection: Connection) -> None:
    """Make every table as it is today, and say which revision that is."""
    if connection.dialect.name == "postgresql":
        _say_what_indexes_hold()
    METADATA.create_all(connection, checkfirst=False)
    _VERSION.create(connection)
    connection.execute(insert(_VERSION).values(version_num=REVISION))


def _say_what_indexes_hold() -> None:
    """Let indexes hold of PostgreSQL's rows what they hold of SQLite's; doing it twice is once."""
    for index in (index for table in METADATA.tables.values() for index in table.indexes):
        index.dialect_options["postgresql"]["where"] = index.dialect_options["sqlite"]["where"]
