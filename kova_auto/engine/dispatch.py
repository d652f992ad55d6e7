"""The port to an engine that hands runs to workers: call `advance` at least once on a live one.

An engine may call late, twice, in any order, on any worker. It never hears of our errors: it is told one of a few
words and either forgets the run or calls again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Protocol

from kova_auto.core.ids import RunId


class Advanced(StrEnum):
    """Say how far a run came."""

    DONE = "done"  # finished: never call again
    SUSPENDED = "suspended"  # waits for a person, an instant or its workspace
    BUSY = "busy"  # somebody else has it, or the journal does not answer: call again
    YIELDED = "yielded"  # this worker stops: call again elsewhere, or after the restart
    SUPERSEDED = "superseded"  # somebody else took it over


Advance = Callable[[RunId], Awaitable[Advanced]]


class Dispatch(Protocol):
    """Hand runs to live workers."""

    def submit(self, run_id: RunId) -> None:
        """Have a run advanced soon; a hint, since `serve` finds runs by itself too."""

    async def serve(self, advance: Advance, *, slots: int, stop: asyncio.Event) -> None:
        """Advance runs, at most `slots` at a time, until `stop` is set and those under way have yielded."""
