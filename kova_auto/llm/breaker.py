"""Let the calls of a model wait their turn after its provider said, or showed, that it wants to be left alone.

A rest begins with a busy answer that says for how long, or with the fifth failure in a row. When it is over, one call
goes first; the others follow once that one has brought something.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from kova_auto.core.errors import ModelError, ModelUnavailableError
from kova_auto.core.fault import BUSY, TRANSIENT, Fault
from kova_auto.core.patience import LONGEST_S

PATIENCE_S: Final = 60.0  # that a call waits here; what takes longer is for its run to wait for
FAILURES: Final = 5
FIRST_REST_S: Final = 5.0
LONGEST_REST_S: Final = 60.0  # that nobody asked for


def _loop_time() -> float:
    return asyncio.get_running_loop().time()


@dataclass(frozen=True, slots=True)
class Timer:
    """Hold how time passes."""

    now: Callable[[], float] = _loop_time
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


class Breaker:
    """Hold what the calls of one model, in one event loop, know of its provider's state."""

    def __init__(self, name: str, timer: Timer | None = None) -> None:
        """Begin with everything well.

        Args:
            name: Who is asked, as a person knows it.
            timer: How time passes; None for the event loop's.
        """
        self._name, self._timer = name, timer or Timer()
        self._failures = 0  # in a row
        self._rests_until: float | None = None  # None: whoever comes may go on
        self._fault = Fault.SERVER
        self._probing = False
        self._changed = asyncio.Event()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[Turn]:
        """Wait until it is this call's turn, and watch how it ends.

        Raises:
            ModelUnavailableError: It would take too long. Nothing was asked.
        """
        turn = Turn(self, goes_first=await self._wait())
        try:
            yield turn
        except ModelError as exc:
            if exc.fault in TRANSIENT:
                self._failed(exc, went_first=turn.goes_first)
            else:
                self._succeeded(turn)  # It is there, and said no.
            raise
        else:
            self._succeeded(turn)
        finally:
            if turn.goes_first:  # Whatever became of it, the next one may try.
                self._let_others_look()

    async def _wait(self) -> bool:
        """Return whether this call goes ahead of others."""
        if self._rests_until is None:
            return False
        patient_until = self._timer.now() + PATIENCE_S
        while (rests_until := self._rests_until) is not None:
            now = self._timer.now()
            if now >= rests_until and not self._probing:
                self._probing = True
                return True
            awaited = rests_until if now < rests_until else patient_until
            if awaited > patient_until or now >= patient_until:
                raise self._unavailable(rests_until - now)
            await self._change(awaited - now)
        return False

    async def _change(self, seconds: float) -> None:
        """Return when something has changed, or after so many seconds."""
        waits = [asyncio.ensure_future(self._changed.wait()), asyncio.ensure_future(self._timer.sleep(seconds))]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    def _unavailable(self, left_s: float) -> ModelUnavailableError:
        left = left_s if left_s > 0 else None
        when = f"is not to be asked for another {left:.0f} s" if left else "is being tried by another call"
        msg = f"{self._name} {when}: {self._fault}"
        return ModelUnavailableError(msg, fault=self._fault, retry_after_s=left)

    def _failed(self, exc: ModelError, *, went_first: bool) -> None:
        self._failures += 1
        asked = exc.retry_after_s if exc.fault in BUSY else None
        rest = None if asked is None else min(asked, LONGEST_S)  # As long as a run would wait; then one may look again.
        if rest is None and (went_first or self._failures >= FAILURES):
            rest = min(FIRST_REST_S * 2.0 ** min(max(self._failures - FAILURES, 0), 10), LONGEST_REST_S)
        if rest:
            self._rests_until = max(self._rests_until or 0.0, self._timer.now() + rest)
            self._fault = exc.fault

    def _succeeded(self, turn: Turn) -> None:
        self._failures = 0
        turn.answered()

    def end_rest(self) -> None:
        """Let everybody go on who waits."""
        self._rests_until = None
        self._let_others_look()

    def _let_others_look(self) -> None:
        self._probing = False
        self._changed.set()
        self._changed = asyncio.Event()


class Turn:
    """Hold what one call has to tell; only one that goes ahead of others has anything to tell at all."""

    __slots__ = ("_breaker", "goes_first")

    def __init__(self, breaker: Breaker, *, goes_first: bool) -> None:
        self._breaker, self.goes_first = breaker, goes_first

    def answered(self) -> None:
        """Take note that content came: the others need not wait for the whole of it."""
        if self.goes_first:
            self.goes_first = False
            self._breaker.end_rest()
