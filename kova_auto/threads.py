"""Threads for what would hold up an event loop: what an executor does, with a few of its moving parts.

`asyncio.to_thread` makes a future of each of two kinds, a condition with two locks, and a copy of the context, and
tells one of the futures what came of the other. A run asks for a thread several times; that cost more than what was
done there.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import SimpleQueue
from types import TracebackType
from typing import Any, TypeVar

T = TypeVar("T")
ASIDE = 8


@dataclass(eq=False, slots=True)
class Awaited:
    """Hold who awaits a piece of work, in which loop, and what came of it."""

    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = None

    def settle(self) -> None:
        """Answer the caller; one who no longer waits is left alone."""
        if self.future.done():
            return
        if self.error is None:
            self.future.set_result(self.result)
        else:
            self.future.set_exception(self.error)


@dataclass(eq=False, slots=True)
class _Job(Awaited):
    """Hold one piece of work; as a block, it keeps whatever that raises."""

    do: Callable[[], Any] = field(kw_only=True)

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> bool:
        self.error = error
        return True


class Threads:
    """Hold threads that begin with the first piece of work, all of them at once; none keeps a process from ending."""

    def __init__(self, count: int, name: str, late: Callable[[], Exception] = RuntimeError) -> None:
        """Name the threads, and say what is raised for work that comes when they have been ended."""
        self._late = late
        self._names = [f"{name}_{number}" for number in range(count)]
        self.forget()

    def forget(self) -> None:
        """Begin anew, as in a process that was forked and has none of these threads."""
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._begun: list[threading.Thread] = []
        self._lock, self._ended = threading.Lock(), False

    async def run(self, do: Callable[[], T]) -> T:
        """Have something done on one of the threads; a caller that is cancelled leaves the thread to it."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        with self._lock:
            if self._ended:
                raise self._late()
            if not self._begun:
                self._begin()
            self._jobs.put(_Job(loop, future, do=do))
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
        given = (self._jobs,)
        self._begun = [threading.Thread(target=_serve, args=given, name=name, daemon=True) for name in self._names]
        for thread in self._begun:
            thread.start()


def _serve(jobs: SimpleQueue[_Job | None]) -> None:
    while (job := jobs.get()) is not None:
        with job:
            job.result = job.do()
        try:  # noqa: SIM105  # `suppress` costs three calls for each job.
            job.loop.call_soon_threadsafe(job.settle)
        except RuntimeError:
            pass  # The loop was closed: nobody waits there.
        del job  # What it holds is not to be held until the next one comes.


_ASIDE = Threads(ASIDE, "aside")
os.register_at_fork(after_in_child=_ASIDE.forget)


async def aside(do: Callable[[], T]) -> T:
    """Look something up on a thread that all loops of this process share: a file, a key ring, what may take a while.

    For what only reads: a process does not wait for it to end.
    """
    return await _ASIDE.run(do)
