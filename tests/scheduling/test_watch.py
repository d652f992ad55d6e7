"""The watch wakes whoever reads the files, and ends when it is told to."""

from __future__ import annotations

import asyncio

from kova_auto.scheduling.watch import watch


async def test_a_change_wakes_the_reader() -> None:
    changed, stop, looks = asyncio.Event(), asyncio.Event(), iter([True])
    watching = asyncio.create_task(watch(lambda: next(looks, False), changed, stop))
    async with asyncio.timeout(60):
        await changed.wait()
    stop.set()
    async with asyncio.timeout(60):
        await watching


async def test_where_nothing_has_changed_nobody_is_woken() -> None:
    changed, stop = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def look() -> bool:
        loop.call_soon_threadsafe(stop.set)
        return False

    async with asyncio.timeout(60):
        await watch(look, changed, stop)
    assert not changed.is_set()


async def test_a_watch_that_is_stopped_does_not_look() -> None:
    stop = asyncio.Event()
    stop.set()

    await watch(lambda: 1 // 0 == 0, asyncio.Event(), stop)
