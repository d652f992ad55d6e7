"""Count how long we wait for a provider, and stop waiting when it is too long.

Only our waiting counts, not the time that others take to use what came. Only content puts the clock back: a server
that sends keep-alives and nothing else is a server that hangs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from kova_auto.core.provider import Timeouts

T = TypeVar("T")


class Waiting:
    """Hold the clocks of one call: for the first content, between two pieces of it, and for the whole."""

    def __init__(self, timeouts: Timeouts) -> None:
        self._timeouts = timeouts
        self._allowed = self._left = timeouts.first_token_s
        self._total_left = timeouts.total_s

    async def wait(self, awaitable: Awaitable[T]) -> T:
        """Return what the awaitable gives.

        Raises:
            TimeoutError: One of the clocks has run out; `complaint` says which.
        """
        now = asyncio.get_running_loop().time
        started = now()
        try:
            async with asyncio.timeout(self._left if self._total_left is None else min(self._left, self._total_left)):
                return await awaitable
        finally:
            spent = now() - started
            self._left = max(self._left - spent, 0.0)
            if self._total_left is not None:
                self._total_left = max(self._total_left - spent, 0.0)

    def progressed(self) -> None:
        """Put the clock back: content came."""
        self._allowed = self._left = self._timeouts.idle_s

    def shorten(self, seconds: float) -> None:
        """Wait no longer than this for what may still come."""
        self._left = min(self._left, seconds)

    @property
    def complaint(self) -> str:
        """Say which clock has run out, as what a provider did."""
        if self._total_left == 0:
            return f"did not finish its answer within {self._timeouts.total_s:g} s"
        return f"sent nothing new for {self._allowed:g} s"
