"""One thread that writes to SQLite: whatever waits when a transaction begins goes into it together.

The commit is what costs, so sharing it makes `synchronous=FULL` nearly free. A caller is answered only after the
commit. There is one writing connection, and whoever uses it has it in hand: the thread, which alone checkpoints, or a
loop that writes a few rows while nothing else waits.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from queue import Empty, SimpleQueue
from time import perf_counter
from types import TracebackType
from typing import Any, Final

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from kova_auto.core.errors import JournalBusyError, JournalError
from kova_auto.store.database import T, Work, closed
from kova_auto.store.faults import DatabaseErrors
from kova_auto.store.restraint import Restraint
from kova_auto.store.transaction import Transaction
from kova_auto.threads import Awaited

BATCH: Final = 256
IDLE_S: Final = 5.0
OFTEN: Final = 256
"""Writes after which what the log holds is moved into the database."""


class _Word(Enum):
    """What the thread is told besides what to write."""

    END = auto()
    LOOK = auto()
    """Something was written elsewhere."""


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

    def __init__(self, connection: Connection, driver: sqlite3.Connection, place: str, patience_s: float) -> None:
        """Start the thread.

        Args:
            connection: Nobody else uses it from here on; `close` closes it.
            driver: What is under `connection`.
            place: Names the database in errors.
            patience_s: How long the thread waits for another process's lock; a loop does not.
        """
        self._connection, self._driver, self._place = connection, driver, place
        self._patience_ms = round(patience_s * 1000)
        self._queue: SimpleQueue[_Item | _Word] = SimpleQueue()
        self._lock, self._closed, self._waiting = threading.Lock(), False, 0
        self._hand, self._restraint, self._in_log = threading.Lock(), Restraint(), 0
        self._set_patience(0)
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
            self._waiting += 1
            self._queue.put(_Item(loop, future, work=work))
        return await future

    async def jot(self, work: Work[T]) -> T:
        """Do the same on the thread that asks, where that holds nothing up; it comes behind all that waits already.

        Raises:
            JournalError: It was not written.
        """
        if not self._waiting and self._hand.acquire(blocking=False):
            loop = asyncio.get_running_loop()
            try:
                if not self._closed and self._restraint.lets(loop):
                    return self._write_here(work, loop)
            except JournalBusyError:
                pass  # Locked: the thread has the patience.
            finally:
                self._hand.release()
        return await self.write(work)

    def close(self) -> None:
        """Write what is waiting, checkpoint, and close the connection; safe to call twice."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._queue.put(_Word.END)
        self._thread.join()

    def _write_here(self, work: Work[T], loop: asyncio.AbstractEventLoop) -> T:
        began = perf_counter()
        with DatabaseErrors(self._place), Transaction(self._driver, "BEGIN IMMEDIATE"):
            result = work(self._connection)
        self._restraint.wrote(loop, perf_counter() - began)
        self._in_log += 1
        if self._in_log % OFTEN == 1:
            self._queue.put(_Word.LOOK)
        return result

    def _serve(self) -> None:
        items: Sequence[_Item] | None = ()
        try:
            while (items := self._next()) is not None:
                with self._hand:
                    self._write_patiently(items)
                with self._lock:
                    self._waiting -= len(items)
                _answer(items)
                if self._in_log > OFTEN:
                    self._checkpoint("PASSIVE")
            self._checkpoint("TRUNCATE")
        finally:
            self._give_up(items)
            with self._hand:
                self._connection.close()

    def _next(self) -> Sequence[_Item] | None:
        """Wait for work and take all that is there, which may be nothing; None once the writer is closed."""
        items: list[_Item] = []
        found = self._wait()
        while isinstance(found, _Item):
            items.append(found)
            if len(items) == BATCH or self._queue.empty():
                return items
            found = self._queue.get()
        if found is _Word.END and items:
            self._queue.put(found)  # Closed behind these: come back for the end.
        return None if found is _Word.END and not items else items

    def _wait(self) -> _Item | _Word:
        """Wait for something to do; where nothing comes for a while, empty the log."""
        while True:
            seen = self._in_log
            try:
                return self._queue.get(timeout=IDLE_S if seen else None)
            except Empty:
                if seen == self._in_log:
                    self._checkpoint("TRUNCATE")

    def _write_patiently(self, items: Sequence[_Item]) -> None:
        """Write, and wait for another process's lock."""
        if items:
            self._set_patience(self._patience_ms)
            try:
                self._write(items)
            finally:
                self._set_patience(0)
            self._in_log += len(items)

    def _set_patience(self, patience_ms: int) -> None:
        self._driver.execute(f"PRAGMA busy_timeout = {patience_ms}")

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

    def _checkpoint(self, how: str) -> None:
        """Move the log into the database, and for `TRUNCATE` empty it, unless a reader is in the way."""
        with self._hand:
            with suppress(sqlite3.Error):
                self._driver.execute(f"PRAGMA wal_checkpoint({how})")
            self._in_log = 0

    def _give_up(self, items: Sequence[_Item] | None) -> None:
        """Tell everybody who still waits, `items` first, that nothing is written any more."""
        with self._lock:
            self._closed = True
        left = list(items or ())
        while not self._queue.empty():
            if isinstance(item := self._queue.get(), _Item):
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
