"""A transaction of SQLite, begun and ended on the driver: SQLAlchemy above it need not know."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def transaction(driver: sqlite3.Connection, begin: str) -> Iterator[None]:
    """Commit what the block does, or undo it where anything is raised, by the commit itself too.

    Args:
        driver: Of a connection that begins nothing by itself (`isolation_level=None`).
        begin: `BEGIN` for what only reads, `BEGIN IMMEDIATE` for what writes.
    """
    driver.execute(begin)
    try:
        yield
        driver.execute("COMMIT")
    except BaseException:
        driver.rollback()  # Does nothing where SQLite has undone it already.
        raise
