"""Look at the job files every second or so, so that what a person saves takes effect without a wait or a restart.

A look reads no file: it asks for sizes and times. That works alike on every system and on network drives, and of ten
thousand files it takes some hundredths of a second; the more it takes, the rarer it is made.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Final

from kova_auto.threads import aside

EVERY_S: Final = 1.0
_REST: Final = 20  # A look takes at most a twentieth of the time.


async def watch(has_changed: Callable[[], bool], changed: asyncio.Event, stop: asyncio.Event) -> None:
    """Set an event whenever there is something to be read, until `stop` is set.

    Args:
        has_changed: Looks, in a thread of its own.
        changed: Wakes whoever reads the files.
        stop: Ends the watch.
    """
    clock = asyncio.get_running_loop().time
    while not stop.is_set():
        began_s = clock()
        if await aside(has_changed):
            changed.set()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(EVERY_S, _REST * (clock() - began_s))):
                await stop.wait()
