"""Count how long we wait for a provider, and stop waiting when it is too long.

Only our waiting counts, not the time that others take to use what came. Only content puts the clock back: a server
that sends keep-alives and nothing else is a server that hangs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar, cast

from kova_auto.core.provider import Timeouts

T = TypeVar("T")


class Waiting:
    """Hold the clocks of one call: for the first content, between two pieces of it, and for the whole.

    One call waits many times, once for each piece that comes; so one timer serves all its waits. Whoever made this
    closes it.
    """

    def __init__(self, timeouts: Timeouts) -> None:
        self._timeouts = timeouts
        self._allowed = self._left = timeouts.first_token_s
        self._total_left = timeouts.total_s
        self._timer: asyncio.TimerHandle | None = None
        self._waiter: asyncio.Task[object] | None = None
        self._until, self._rang = 0.0, False

    async def wait(self, awaitable: Awaitable[T]) -> T:
        """Return what the awaitable gives.

        Raises:
            TimeoutError: One of the clocks has run out; `complaint` says which.
        """
        loop, waiter = asyncio.get_running_loop(), cast("asyncio.Task[object]", asyncio.current_task())
        started, cancelled_before = loop.time(), waiter.cancelling()
        left = self._left if self._total_left is None else min(self._left, self._total_left)
        self._set(loop, waiter, started + left)
        try:
            return await awaitable
        except asyncio.CancelledError as exc:
            if self._rang and waiter.cancelling() - 1 <= cancelled_before:
                raise TimeoutError from exc
            raise
        finally:
            self._waiter = None
            if self._rang:  # Our own cancellation is over, whatever came of it.
                waiter.uncancel()
            spent = loop.time() - started
            self._left = max(self._left - spent, 0.0)
            if self._total_left is not None:
                self._total_left = max(self._total_left - spent, 0.0)

    def close(self) -> None:
        """Let go of the timer; safe to call twice."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _set(self, loop: asyncio.AbstractEventLoop, waiter: asyncio.Task[object], until: float) -> None:
        """Have the waiter cancelled at an instant; a timer that rings too early for it is set again then."""
        self._waiter, self._until, self._rang = waiter, until, False
        if self._timer is None or self._timer.when() > until:
            self.close()
            self._timer = loop.call_at(until, self._ring, loop)

    def _ring(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        if self._waiter is None:
            return
        if loop.time() < self._until:
            self._timer = loop.call_at(self._until, self._ring, loop)
        else:
            self._rang = True
            self._waiter.cancel()

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
