"""A transaction of SQLite, begun and ended on the driver: SQLAlchemy above it need not know."""

from __future__ import annotations

import sqlite3
from types import TracebackType


class Transaction:
    """Commit what the block does, or undo it where anything is raised, by the commit itself too."""

    __slots__ = ("_begin", "_driver")

    def __init__(self, driver: sqlite3.Connection, begin: str) -> None:
        """Prepare.

        Args:
            driver: Of a connection that begins nothing by itself (`isolation_level=None`).
            begin: `BEGIN` for what only reads, `BEGIN IMMEDIATE` for what writes.
        """
        self._driver, self._begin = driver, begin

    def __enter__(self) -> None:
        self._driver.execute(self._begin)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None:
            try:
                self._driver.execute("COMMIT")
            except BaseException:
                self._driver.rollback()
                raise
        else:
            self._driver.rollback()  # Does nothing where SQLite has undone it already.
