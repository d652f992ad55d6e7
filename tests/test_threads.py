"""Work on threads: what comes of it, whoever waits for it, and what becomes of work that comes too late."""

from __future__ import annotations

import asyncio
import threading
from functools import partial

import pytest

from kova_auto.threads import Threads, aside


def name() -> str:
    """Return the thread that this is done on."""
    return threading.current_thread().name


def refuse() -> None:
    """Fail as a file that is not there."""
    raise FileNotFoundError


async def test_what_is_done_elsewhere_is_returned_or_raised_here() -> None:
    assert (await aside(name)).startswith("aside_")
    with pytest.raises(FileNotFoundError):
        await aside(refuse)


async def test_as_much_is_done_at_once_as_there_are_threads() -> None:
    threads, together = Threads(3, "three"), threading.Barrier(3)

    await asyncio.gather(*(threads.run(together.wait) for _ in range(6)))
    threads.end()


async def test_who_no_longer_waits_leaves_the_thread_to_others() -> None:
    threads, may_go = Threads(1, "one"), threading.Event()
    first = asyncio.ensure_future(threads.run(may_go.wait))
    await asyncio.sleep(0)
    first.cancel()
    second = asyncio.ensure_future(threads.run(name))
    may_go.set()

    assert await second == "one_0"
    threads.end()


async def test_what_waits_is_done_before_the_end_and_what_comes_later_is_refused() -> None:
    threads, done = Threads(1, "one", late=InterruptedError), list[int]()
    waiting = [asyncio.ensure_future(threads.run(partial(done.append, number))) for number in range(3)]
    await asyncio.sleep(0)
    threads.end()
    threads.end()

    assert done == [0, 1, 2]
    await asyncio.gather(*waiting)
    with pytest.raises(InterruptedError):
        await threads.run(name)


async def test_threads_that_were_forgotten_are_made_anew() -> None:
    threads = Threads(1, "one")
    await threads.run(name)
    before = set(threading.enumerate())
    threads.forget()

    assert await threads.run(name) == "one_0"
    assert [thread.name for thread in set(threading.enumerate()) - before] == ["one_0"]
    threads.end()
