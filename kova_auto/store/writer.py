"""One thread that writes to SQLite: whatever waits when a transaction begins goes into it together.

The commit is what costs, so sharing it makes `synchronous=FULL` nearly free. A caller is answered only after the
commit. The thread has the one writing connection to itself and is the only one that checkpoints.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from kova_auto.core.errors import JournalError
from kova_auto.store.database import T, Work, closed
from kova_auto.store.faults import DatabaseErrors
from kova_auto.store.transaction import Transaction
from kova_auto.threads import Awaited

BATCH = 256
IDLE_S = 5.0


@dataclass(eq=False, slots=True)
class _Item(Awaited):
    """Hold one write."""

    work: Work[Any] = field(kw_only=True)


class _Keeping:
    """Keep for an item's caller what its work raises; an error of the database itself goes through."""

    __slots__ = ("_item",)

    def __init__(self, item: _Item) -> None:
        self._item = item

    def __enter__(self) -> None:
        self._item.error = None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> bool:
        if error is None or isinstance(error, DBAPIError | sqlite3.Error):
            return False
        self._item.error = error
        return True


class _Savepoint:
    """Undo what one refused item has done; its neighbours stand."""

    __slots__ = ("_driver",)

    def __init__(self, driver: sqlite3.Connection) -> None:
        self._driver = driver

    def __enter__(self) -> None:
        self._driver.execute("SAVEPOINT item")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if isinstance(error, DBAPIError | sqlite3.Error):
            return  # It ends the whole transaction.
        if error is not None:
            self._driver.execute("ROLLBACK TO item")
        self._driver.execute("RELEASE item")


class GroupWriter:
    """Write for any number of tasks and event loops through one connection."""

    def __init__(self, connection: Connection, driver: sqlite3.Connection, place: str) -> None:
        """Start the thread.

        Args:
            connection: Nobody else uses it from here on; `close` closes it.
            driver: What is under `connection`.
            place: Names the database in errors.
        """
        self._connection, self._driver, self._place = connection, driver, place
        self._queue: SimpleQueue[_Item | None] = SimpleQueue()
        self._lock, self._closed = threading.Lock(), False
        self._thread = threading.Thread(target=self._serve, name="journal-writer", daemon=True)
        self._thread.start()

    async def write(self, work: Work[T]) -> T:
        """Run `work` in a transaction and return what it returned, once that is committed.

        A task that is cancelled while it waits may find its write done: a fact that happened is better kept.

        Raises:
            JournalError: It was not written.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        with self._lock:
            if self._closed:
                raise closed(self._place)
            self._queue.put(_Item(loop, future, work=work))
        return await future

    def close(self) -> None:
        """Write what is waiting, checkpoint, and close the connection; safe to call twice."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._queue.put(None)
        self._thread.join()

    def _serve(self) -> None:
        items: Sequence[_Item] = ()
        try:
            while items := self._batch():
                self._write(items)
                _answer(items)
            self._checkpoint()
        finally:
            self._give_up(items)
            self._connection.close()

    def _batch(self) -> Sequence[_Item]:
        """Wait for work and take all that is there; nothing once the writer is closed."""
        try:
            item = self._queue.get(timeout=IDLE_S)
        except Empty:
            self._checkpoint()
            item = self._queue.get()
        items: list[_Item] = []
        while item is not None:
            items.append(item)
            if len(items) == BATCH or self._queue.empty():
                return items
            item = self._queue.get()
        if items:
            self._queue.put(None)  # Closed behind these: come back for the end.
        return items

    def _write(self, items: Sequence[_Item]) -> None:
        """Leave a result or an error in each; where the database refuses one, the others are written without it."""
        while items:
            at: _Item | None = None
            try:
                with DatabaseErrors(self._place):
                    if len(items) == 1:
                        self._write_one(items[0])
                        return
                    with Transaction(self._driver, "BEGIN IMMEDIATE"):
                        for at in items:
                            with _Keeping(at), _Savepoint(self._driver):
                                at.result = at.work(self._connection)
                        at = None
            except JournalError as exc:
                refused = items if at is None else [at]
                for item in refused:
                    item.error = exc
                items = [item for item in items if item not in refused]
            else:
                return

    def _write_one(self, item: _Item) -> None:
        """Write what nobody shares a transaction with: it needs no savepoint in it."""
        with _Keeping(item), Transaction(self._driver, "BEGIN IMMEDIATE"):
            item.result = item.work(self._connection)

    def _checkpoint(self) -> None:
        """Move the log into the database and empty it, unless a reader is in the way."""
        patience = self._driver.execute("PRAGMA busy_timeout").fetchone()[0]
        self._driver.execute("PRAGMA busy_timeout = 0")
        with suppress(sqlite3.Error):
            self._driver.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._driver.execute(f"PRAGMA busy_timeout = {patience}")

    def _give_up(self, items: Sequence[_Item]) -> None:
        """Tell everybody who still waits, `items` first, that nothing is written any more."""
        with self._lock:
            self._closed = True
        left = list(items)
        while not self._queue.empty():
            if item := self._queue.get():
                left.append(item)
        for item in left:
            item.error = closed(self._place)
        _answer(left)


def _answer(items: Sequence[_Item]) -> None:
    """Settle items in the loops they came from, one call for each loop."""
    for loop in {item.loop for item in items}:
        try:  # noqa: SIM105  # `suppress` costs three calls for each write.
            loop.call_soon_threadsafe(_settle, [item for item in items if item.loop is loop])
        except RuntimeError:
            pass  # The loop was closed: nobody waits there.


def _settle(items: Sequence[_Item]) -> None:
    for item in items:
        item.settle()
