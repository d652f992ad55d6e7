"""An alarm clock: APScheduler wakes us at an instant, and decides nothing else.

Its own cron trigger, job store and misfire rules are never used: the truth is the ledger.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from datetime import UTC, datetime, timedelta

from apscheduler.executors.asyncio import AsyncIOExecutor
from apscheduler.jobstores.memory import MemoryJobStore
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.date import DateTrigger

LOGGER = logging.getLogger("apscheduler")
_ALARM = "alarm"
RELAYED_EVERY_S = 0.2


class AlarmClock:
    """Set an event at an instant; setting it anew forgets the instant before."""

    def __init__(self, *, longest: timedelta) -> None:
        """Sleep at most `longest`, so that a machine that slept or whose clock was set is noticed."""
        self.rang = asyncio.Event()
        self._longest = longest
        self._scheduler = AsyncIOScheduler(
            timezone=UTC,
            jobstores={"default": MemoryJobStore()},
            executors={"default": AsyncIOExecutor()},
            job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1},
        )
        LOGGER.setLevel(logging.ERROR)

    def start(self) -> None:
        """Begin; call it from the event loop that waits."""
        self._scheduler.start()

    def set(self, at: datetime | None, now: datetime) -> None:
        """Ring at the instant, or after the longest sleep, whichever comes first."""
        latest = now + self._longest
        instant = latest if at is None else max(min(at, latest), now)
        self._scheduler.add_job(self._ring, DateTrigger(instant, timezone=UTC), id=_ALARM, replace_existing=True)

    def stop(self) -> None:
        """Stop for good."""
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)

    async def _ring(self) -> None:
        self.rang.set()


async def relay(bell: asyncio.Event, rang: asyncio.Event, stop: asyncio.Event) -> None:
    """Have the alarm ring whenever a bell does, as when a run has ended, but only so often; until `stop` is set.

    Args:
        bell: Rung once more at the end.
        rang: What the alarm sets.
        stop: Ends it.
    """
    while not stop.is_set():
        await bell.wait()
        bell.clear()
        rang.set()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(RELAYED_EVERY_S):
                await stop.wait()
