"""The threads on which a database is asked: what an executor does, with a few of its moving parts."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from types import TracebackType
from typing import Any

from kova_auto.store.database import T, Work, closed


@dataclass(eq=False, slots=True)
class _Job:
    """Hold one piece of work, and what came of it; as a block, it keeps whatever its work raises."""

    do: Callable[[Any], Any]
    work: Any
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = None

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> bool:
        self.error = error
        return True

    def settle(self) -> None:
        """Answer the caller; one who no longer waits is left alone."""
        if self.future.done():
            return
        if self.error is None:
            self.future.set_result(self.result)
        else:
            self.future.set_exception(self.error)


class Threads:
    """Hold threads that begin with the first piece of work, all of them at once."""

    def __init__(self, count: int, name: str, place: str) -> None:
        """Name the threads, and the database that they ask, for errors."""
        self._place = place
        self._names = [f"{name}_{number}" for number in range(count)]
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._begun: list[threading.Thread] = []
        self._lock, self._ended = threading.Lock(), False

    async def run(self, do: Callable[[Work[T]], T], work: Work[T]) -> T:
        """Have `do` run a piece of work on one of the threads; a caller that is cancelled leaves the thread to it.

        Raises:
            JournalError: The threads have been ended.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        with self._lock:
            if self._ended:
                raise closed(self._place)
            if not self._begun:
                self._begin()
            self._jobs.put(_Job(do, work, loop, future))
        return await future

    @property
    def ended(self) -> bool:
        """Say whether no more work is taken."""
        return self._ended

    def end(self) -> None:
        """Have what waits done, and end the threads; safe to call twice."""
        with self._lock:
            if not self._ended:
                self._ended = True
                for _ in self._begun:
                    self._jobs.put(None)
        for thread in self._begun:
            thread.join()

    def _begin(self) -> None:
        self._begun = [threading.Thread(target=self._serve, name=name, daemon=True) for name in self._names]
        for thread in self._begun:
            thread.start()

    def _serve(self) -> None:
        while (job := self._jobs.get()) is not None:
            with job:
                job.result = job.do(job.work)
            with suppress(RuntimeError):  # The loop was closed: nobody waits there.
                job.loop.call_soon_threadsafe(job.settle)
            del job  # What it holds is not to be held until the next one comes.
