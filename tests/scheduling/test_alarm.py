"""The alarm clock on a real event loop: it rings at its instant, at once for the past, and never sleeps too long."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

import pytest

from kova_auto.clock import SystemClock
from kova_auto.scheduling.alarm import AlarmClock

CLOCK = SystemClock()
LONG = timedelta(hours=1)
PATIENCE_S = 60.0


@asynccontextmanager
async def an_alarm(longest: timedelta = LONG) -> AsyncIterator[AlarmClock]:
    alarm = AlarmClock(longest=longest)
    alarm.start()
    try:
        yield alarm
    finally:
        alarm.stop()


async def rings_at(alarm: AlarmClock) -> datetime:
    """Wait for the alarm, and return when it rang."""
    async with asyncio.timeout(PATIENCE_S):
        await alarm.rang.wait()
    alarm.rang.clear()
    return CLOCK.now()


@pytest.mark.parametrize("wait_s", [0.2, 0.0, -5.0, -86_400.0])
async def test_it_rings_at_its_instant_and_not_before(wait_s: float) -> None:
    async with an_alarm() as alarm:
        now = CLOCK.now()
        instant = now + timedelta(seconds=wait_s)
        alarm.set(instant, now)

        assert await rings_at(alarm) >= instant


@pytest.mark.parametrize("far", [None, timedelta(days=1), timedelta(days=40_000)])
async def test_it_never_sleeps_longer_than_it_may(far: timedelta | None) -> None:
    async with an_alarm(timedelta(seconds=0.2)) as alarm:
        now = CLOCK.now()
        alarm.set(now + far if far else None, now)

        assert await rings_at(alarm) >= now + timedelta(seconds=0.2)


async def test_the_newest_instant_is_the_one_that_counts() -> None:
    async with an_alarm() as alarm:
        now = CLOCK.now()
        alarm.set(now + timedelta(seconds=0.05), now)
        alarm.set(now + timedelta(seconds=0.4), now)
        assert await rings_at(alarm) >= now + timedelta(seconds=0.4)

        now = CLOCK.now()
        alarm.set(now + LONG, now)
        alarm.set(now + timedelta(seconds=0.05), now)
        await rings_at(alarm)


async def test_it_rings_once_for_each_setting() -> None:
    async with an_alarm() as alarm:
        for _ in range(3):
            now = CLOCK.now()
            alarm.set(now, now)
            await rings_at(alarm)
            assert not alarm.rang.is_set()


async def test_it_may_be_stopped_twice_and_before_it_began() -> None:
    never = AlarmClock(longest=LONG)
    never.stop()
    async with an_alarm() as alarm:
        alarm.stop()
        alarm.stop()
