"""When the clocks of a zone are changed, found by looking at them; and expressions that are in the way of a change."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from tests.core.schedule.schedule_oracle import WEEKDAYS, DayItem, LastDay, NearestWorkday, Numbered, Spelled, Weekdays

NAMES = sorted(name for name in available_timezones() if name != "localtime")
SAMPLE = (
    "Africa/Cairo",
    "Africa/Casablanca",
    "America/Havana",
    "America/Nuuk",
    "America/Santiago",
    "America/St_Johns",
    "Antarctica/Troll",
    "Asia/Beirut",
    "Asia/Gaza",
    "Australia/Lord_Howe",
    "Europe/Dublin",
    "Pacific/Chatham",
)
EVERY_MONTH = ("*", frozenset(range(1, 13)))
_STRIDE = timedelta(days=5)


@dataclass(frozen=True)
class Change:
    """One change of a clock: the instant (UTC), and the offsets before and after."""

    at: datetime
    before: timedelta
    after: timedelta


@cache
def changes(name: str, start: datetime, end: datetime) -> tuple[Change, ...]:
    """Return a zone's changes between two instants, by looking at its clock every few days, then ever closer.

    The shortest time between two changes is the month for which Morocco turns its clocks back.
    """
    zone = ZoneInfo(name)
    found: list[Change] = []
    before = _offset(start, zone)
    while start < end:
        after = _offset(start + _STRIDE, zone)
        if before != after:
            found.append(Change(_first(start, start + _STRIDE, after, zone), before, after))
        start, before = start + _STRIDE, after
    return tuple(found)


def _first(low: datetime, high: datetime, offset: timedelta, zone: ZoneInfo) -> datetime:
    while high - low > timedelta(seconds=1):
        middle = low + (high - low) // timedelta(seconds=2) * timedelta(seconds=1)
        low, high = (low, middle) if _offset(middle, zone) == offset else (middle, high)
    return high


def _offset(instant: datetime, zone: ZoneInfo) -> timedelta:
    return instant.astimezone(zone).utcoffset() or timedelta(0)


def in_the_way(change: Change, dice: random.Random, count: int) -> Iterator[Spelled]:
    """Make expressions up that fire about the time of a change, every other one by fixed times."""
    hour = (change.at + change.before).hour
    for number in range(count):
        low, high = max(0, hour - dice.randint(0, 2)), min(23, hour + dice.randint(0, 2))
        hours = (f"{low}-{high}", frozenset(range(low, high + 1)))
        days, weekdays = _days(dice), _weekdays(dice)
        yield Spelled(
            seconds=None,
            minutes=_minutes(dice) if number % 2 else _fixed_minutes(dice),
            hours=hours if dice.random() < 0.8 else ("*", frozenset(range(24))),
            months=EVERY_MONTH,
            days=days,
            weekdays=weekdays,
        )


def _minutes(dice: random.Random) -> tuple[str, frozenset[int]]:
    step = dice.choice((1, 7, 15, 20, 30))
    return f"*/{step}", frozenset(range(0, 60, step))


def _fixed_minutes(dice: random.Random) -> tuple[str, frozenset[int]]:
    numbers = sorted({dice.choice((0, 1, 15, 29, 30, 31, 45, 58, 59)) for _ in range(3)})
    return ",".join(map(str, numbers)), frozenset(numbers)


def _days(dice: random.Random) -> tuple[DayItem, ...] | None:
    first = dice.randint(1, 20)
    some = Numbered(f"{first}-{first + 11}", frozenset(range(first, first + 12)))
    return dice.choice((None, None, None, (some,), (some, LastDay("L")), (some, NearestWorkday("15W", 15))))


def _weekdays(dice: random.Random) -> tuple[DayItem, ...] | None:
    number, nth = dice.randint(0, 6), dice.randint(1, 5)
    one = frozenset({number})
    last, some = Weekdays(f"{number}L", one, 0), Weekdays(f"{WEEKDAYS[number]}#{nth}", one, nth)
    weekend = Weekdays("0,6", frozenset({0, 6}))
    return dice.choice((None, None, None, (weekend,), (Weekdays(WEEKDAYS[number], one), last), (some,)))
