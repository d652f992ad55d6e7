"""Places to write to: a pipe, and a terminal that is no real one."""

from __future__ import annotations

import asyncio
from io import StringIO


class Terminal(StringIO):
    """Keep what is written, and claim that somebody looks."""

    def isatty(self) -> bool:
        return True


class Paper(StringIO):
    """Keep what is written, and let a test wait for it."""

    def __init__(self) -> None:
        super().__init__()
        self._written = asyncio.Event()

    def write(self, text: str, /) -> int:
        self._written.set()
        return super().write(text)

    async def holds(self, text: str) -> None:
        while text not in self.getvalue():
            self._written.clear()
            await self._written.wait()


def rows(written: str) -> list[str]:
    """Return the rows that a person is left with: what a carriage return and a clearing took away is gone."""
    return [line.rpartition("\x1b[2K")[2] for line in written.split("\n")]
