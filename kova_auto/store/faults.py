"""What a database's error means here: try again, make room, or look at the file."""

from __future__ import annotations

import sqlite3
from types import TracebackType

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from kova_auto.core.errors import JournalBusyError, JournalError

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_CLOSED_TO_US = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH}


class DatabaseErrors:
    """Turn what the driver raises inside into a `JournalError` that names the database.

    Raises:
        JournalBusyError: It may work later: locked, unreachable, or no room on the disk.
        JournalError: A person must look: damaged, not writable, or not what we expect.
    """

    __slots__ = ("_place",)

    def __init__(self, place: str) -> None:
        """Take the file, or host and name, without a password."""
        self._place = place

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None:
            return
        if isinstance(error, sqlite3.Error):
            raise _sqlite_error(error, self._place) from error
        if isinstance(error, DBAPIError):
            if isinstance(error.orig, sqlite3.Error):
                raise _sqlite_error(error.orig, self._place) from error
            raise _server_error(error, self._place) from error
        if isinstance(error, PoolTimeoutError):
            msg = f"no connection to the database {self._place} was free in time"
            raise JournalBusyError(msg) from error


def _sqlite_error(exc: sqlite3.Error, place: str) -> JournalError:
    primary = getattr(exc, "sqlite_errorcode", 0) & 0xFF
    if primary in _BUSY:
        return JournalBusyError(f"the database {place} is locked by another process ({exc})")
    if primary == sqlite3.SQLITE_FULL:
        return JournalBusyError(f"there is no room for the database {place}: nothing was written; free some ({exc})")
    if primary in _DAMAGED:
        return JournalError(
            f"the database {place} is damaged or is no SQLite file ({exc}); it was left as it is: "
            "move it away, or put a backup in its place"
        )
    if primary in _CLOSED_TO_US:
        return JournalError(f"the database {place} cannot be opened for writing ({exc}); check owner and permissions")
    return JournalError(f"the database {place} failed: {exc}")


def _server_error(exc: DBAPIError, place: str) -> JournalError:
    cause = " ".join(str(exc.orig).split())
    if exc.connection_invalidated or isinstance(exc, OperationalError | InterfaceError):
        return JournalBusyError(f"the database {place} did not answer: {cause}")
    return JournalError(f"the database {place} failed: {cause}")
