"""When an event loop may write to a database by itself, and when a thread is to do it.

To commit on the loop spares handing the work to a thread and the answer back, which costs more than what is written.
It holds the loop up for as long as the disk takes, so it is not done twice in one round of the loop, where many tasks
share a commit, and not while the disk is slow.
"""

from __future__ import annotations

import asyncio
from typing import Final

SLOW_S: Final = 0.01
"""Seconds of a transaction, commit included, up to which a loop is held up; on the average of the last ones."""
WEIGHT: Final = 0.25
"""Of the last transaction in that average."""
REST: Final = 100
"""How many writes are left to the thread where it is passed, before a loop tries the disk again."""


class Restraint:
    """Remember who wrote last, and how long it took; its caller sees to it that one thread at a time asks."""

    __slots__ = ("_average_s", "_loop", "_rest")

    def __init__(self) -> None:
        """Begin with a disk that is taken for quick."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._average_s, self._rest = 0.0, 0

    def lets(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Say whether a loop may write now."""
        if self._rest:
            self._rest -= 1
            return False
        return self._loop is not loop

    def wrote(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        """Note what a loop has written, and what it took."""
        self._average_s += WEIGHT * (seconds - self._average_s)
        if self._average_s > SLOW_S:
            self._average_s, self._rest = SLOW_S, REST
        self._loop = loop
        loop.call_soon(self._next_round)

    def _next_round(self) -> None:
        self._loop = None
