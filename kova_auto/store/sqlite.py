"""SQLite as a journal wants it: log ahead, every commit on the disk, one writer, readers that only read."""

from __future__ import annotations

import logging
import os
import sqlite3
from collections import deque
from contextlib import ExitStack
from enum import StrEnum, auto
from functools import partial
from pathlib import Path

from sqlalchemy import Connection, NullPool, StaticPool, create_engine

from kova_auto.core.errors import JournalError
from kova_auto.store.database import T, Work, closed
from kova_auto.store.faults import DatabaseErrors
from kova_auto.store.prepared import driver_of
from kova_auto.store.schema import ensure_schema
from kova_auto.store.transaction import Transaction
from kova_auto.store.writer import GroupWriter
from kova_auto.threads import Threads

READERS = 4
LOG_LIMIT_BYTES = 64 * 1024 * 1024
LOG_PAGES = 4000
"""Pages in the log at which a commit itself moves them: only many large rows come to that before the writer does it."""

logger = logging.getLogger(__name__)


class Synchronous(StrEnum):
    """Say what a commit waits for, in SQLite's own words.

    `FULL` waits for the disk. `NORMAL` does not, where the log is ahead: a process that is killed loses nothing, a
    machine that loses its power may lose the last commits, and never one without those behind it.
    """

    FULL = auto()
    NORMAL = auto()


class SqliteDatabase:
    """Have one SQLite file to oneself.

    The caller holds the owner's lock. With one writing connection, which alone checkpoints, the corruption that SQLite
    up to 3.51.2 risks (one connection checkpoints while another commits) cannot happen.
    """

    def __init__(
        self, path: Path, *, create: bool, patience_s: float = 30, synchronous: Synchronous = Synchronous.FULL
    ) -> None:
        """Open the file and bring its tables up to date.

        Args:
            path: The file.
            create: Make it, and its directory, where it is not there.
            patience_s: How long to wait for another process's lock.
            synchronous: What a commit waits for.

        Raises:
            JournalError: It is not there, damaged, not writable, of a newer version, or no journal.
        """
        self.place = str(path)
        _prepare_file(path, create=create)
        with DatabaseErrors(self.place):
            pragmas = (f"synchronous = {synchronous}", f"wal_autocheckpoint = {LOG_PAGES}")
            driver = _connect(path, patience_s, *pragmas)
            self._writing = create_engine("sqlite://", poolclass=StaticPool, creator=lambda: driver)
            connection = self._writing.connect()
            try:
                _make_ready(connection, driver, self.place)
            except BaseException:
                connection.close()  # Before its driver: it would be heard of when it is forgotten.
                driver.close()
                raise
        self._reading = create_engine(
            "sqlite://", poolclass=NullPool, creator=partial(_connect, path, patience_s, "query_only = ON")
        )
        self._idle: deque[Connection] = deque()
        self._writer = GroupWriter(connection, driver, self.place, patience_s)
        self._readers = Threads(READERS, "journal-reader", partial(closed, self.place))
        logger.info("the journal is %s (SQLite %s)", path, sqlite3.sqlite_version)

    async def write(self, work: Work[T]) -> T:
        """Return what `work` returned once it is committed."""
        return await self._writer.write(work)

    async def jot(self, work: Work[T]) -> T:
        """Return the same; the loop commits by itself where nothing else waits and the disk is quick."""
        return await self._writer.jot(work)

    async def read(self, work: Work[T]) -> T:
        """Return what `work` found in what is committed."""
        return await self._readers.run(partial(self._lent, partial(_in_one_look, work)))

    async def look(self, work: Work[T]) -> T:
        """Return the same, on the thread that asks.

        Few rows at the end of an index are found in the time of a function call or two, and most of what they need is
        in memory. To hand such a question to a thread and wait for its answer costs several times as much, and holds
        the loop up just as long: for the thread to go on, the loop has to let go of the interpreter. Each statement
        sees what is committed at its moment.
        """
        if self._readers.ended:
            raise closed(self.place)
        return self._lent(work)

    def close(self) -> None:
        """Write what waits, empty the log into the database, and let go of the file."""
        self._readers.end()
        while self._idle:
            self._idle.pop().close()
        self._reading.dispose()  # Before the writer, for the last to leave checkpoints.
        self._writer.close()
        self._writing.dispose()

    def _lent(self, work: Work[T]) -> T:
        """Have work done with a connection that nobody else uses; one that failed is not used again."""
        with DatabaseErrors(self.place):
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = self._reading.connect()
            try:
                found = work(connection)
            except BaseException:
                connection.close()
                raise
            self._idle.append(connection)
            return found


def _in_one_look(work: Work[T], connection: Connection) -> T:
    with Transaction(driver_of(connection), "BEGIN"):
        return work(connection)


def _prepare_file(path: Path, *, create: bool) -> None:
    """See to it that the file is there, readable by its owner only: what agents did is nobody else's business."""
    if path.exists():
        return
    if not create:
        msg = f"there is no journal at {path}"
        raise JournalError(msg)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    except OSError as exc:
        msg = f"the journal {path} cannot be made: {exc.strerror}"
        raise JournalError(msg) from exc


def _connect(path: Path, patience_s: float, *pragmas: str) -> sqlite3.Connection:
    """Open the file with nothing of the driver's own transactions: its default loses updates between threads."""
    with ExitStack() as unusable:
        driver = sqlite3.connect(path, timeout=patience_s, isolation_level=None, check_same_thread=False)
        unusable.callback(driver.close)
        for pragma in ("foreign_keys = ON", f"journal_size_limit = {LOG_LIMIT_BYTES}", *pragmas):
            driver.execute(f"PRAGMA {pragma}")
        unusable.pop_all()
    return driver


def _make_ready(connection: Connection, driver: sqlite3.Connection, place: str) -> None:
    """Have the file as it is to be, once it is known to be ours: only then is anything in it changed."""
    with Transaction(driver, "BEGIN IMMEDIATE"):
        ensure_schema(connection, place)
    mode = driver.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    if mode != "wal":
        msg = f"the database {place} cannot keep a write-ahead log (mode {mode}); is it on a network file system?"
        raise JournalError(msg)
