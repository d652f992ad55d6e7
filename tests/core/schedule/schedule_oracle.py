"""A second, slow opinion on cron: walk the clock and look at every field; and builders for the tests beside it."""

from __future__ import annotations

import calendar
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from typing import NamedTuple
from zoneinfo import ZoneInfo

from kova_auto.core.schedule.cron import Cron, parse_cron
from kova_auto.core.schedule.zone import parse_zone

WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def fires(expression: str, zone: str, start: str, count: int) -> list[str]:
    """Return the next firings as a clock in the zone shows them."""
    cron, place, instant = parse_cron(expression), parse_zone(zone), datetime.fromisoformat(start)
    return [found.astimezone(place).isoformat() for found in islice(walk(cron, place, instant), count)]


def walk(cron: Cron, zone: ZoneInfo, after: datetime) -> Iterator[datetime]:
    while (found := cron.next_after(after, zone)) is not None:
        yield found
        after = found


@dataclass(frozen=True)
class DayItem:
    """One item of a day field, with the dates that it means."""

    text: str

    def covers(self, day: date) -> bool:
        raise NotImplementedError


@dataclass(frozen=True)
class Numbered(DayItem):
    numbers: frozenset[int]

    def covers(self, day: date) -> bool:
        return day.day in self.numbers


@dataclass(frozen=True)
class LastDay(DayItem):
    def covers(self, day: date) -> bool:
        return (day + timedelta(days=1)).day == 1


@dataclass(frozen=True)
class NearestWorkday(DayItem):
    number: int | None

    def covers(self, day: date) -> bool:
        length = calendar.monthrange(day.year, day.month)[1]
        number = self.number or length
        if number > length:
            return False
        workdays = [date(day.year, day.month, n) for n in range(1, length + 1)]
        workdays = [candidate for candidate in workdays if candidate.isoweekday() <= 5]
        return day == min(workdays, key=lambda candidate: abs(candidate.day - number))


@dataclass(frozen=True)
class Weekdays(DayItem):
    """Weekdays, Sunday = 0; with `nth`, only as the month's nth, 0 being the last."""

    numbers: frozenset[int]
    nth: int | None = None

    def covers(self, day: date) -> bool:
        if day.isoweekday() % 7 not in self.numbers:
            return False
        if self.nth is None:
            return True
        if self.nth == 0:
            return (day + timedelta(days=7)).month != day.month
        return (day.day + 6) // 7 == self.nth


@dataclass(frozen=True)
class Spelled:
    """An expression with what its author meant; a day side of None is a star."""

    seconds: tuple[str, frozenset[int]] | None
    minutes: tuple[str, frozenset[int]]
    hours: tuple[str, frozenset[int]]
    months: tuple[str, frozenset[int]]
    days: tuple[DayItem, ...] | None
    weekdays: tuple[DayItem, ...] | None
    is_forced_and: bool = False

    @property
    def text(self) -> str:
        days = ",".join(item.text for item in self.days) if self.days else "*"
        weekdays = ",".join(item.text for item in self.weekdays) if self.weekdays else "*"
        plus = "+" if self.is_forced_and else ""
        seconds = [self.seconds[0]] if self.seconds else []
        return " ".join([*seconds, self.minutes[0], self.hours[0], days, self.months[0], plus + weekdays])

    @property
    def is_fixed(self) -> bool:
        times = [self.minutes[0], self.hours[0], self.seconds[0] if self.seconds else "0"]
        return not any(text.startswith("*") for text in times)

    def covers_date(self, day: date) -> bool:
        if day.month not in self.months[1]:
            return False
        sides = [items for items in (self.days, self.weekdays) if items is not None]
        answers = [any(item.covers(day) for item in items) for items in sides]
        return all(answers) if self.is_forced_and else not answers or any(answers)

    def covers(self, wall: datetime) -> bool:
        seconds = self.seconds[1] if self.seconds else {0}
        is_time = wall.second in seconds and wall.minute in self.minutes[1] and wall.hour in self.hours[1]
        return is_time and self.covers_date(wall.date())


class Tick(NamedTuple):
    """One look at a clock.

    Attributes:
        news: What it shows for the first time, and what it left out since the look before, gaps of 3 hours and more
            aside.
    """

    instant: datetime
    wall: datetime
    news: tuple[datetime, ...]


def look_at_the_clock(zone: ZoneInfo, start: datetime, ticks: int, tick: timedelta) -> list[Tick]:
    """Look at the clock of `zone` at each of the `ticks` after `start`."""
    found: list[Tick] = []
    shown: set[datetime] = set()
    longest = tick + timedelta(hours=3)
    instant = start - timedelta(hours=3)  # early enough to know which walls are shown for the second time
    wall = _wall(instant, zone)
    while instant < start + ticks * tick:
        before, instant = wall, instant + tick
        wall = _wall(instant, zone)
        news: tuple[datetime, ...] = () if wall in shown else (wall,)
        if tick < wall - before < longest:
            news = tuple(before + tick * step for step in range(1, (wall - before) // tick + 1))
        shown.add(wall)
        if instant > start:
            found.append(Tick(instant, wall, news))
    return found


def fired(spelled: Spelled, ticks: list[Tick]) -> list[datetime]:
    """Return what fires, by looking at every field at each tick."""
    if spelled.is_fixed:
        return [tick.instant for tick in ticks if any(map(spelled.covers, tick.news))]
    return [tick.instant for tick in ticks if spelled.covers(tick.wall)]


def watch_the_clock(spelled: Spelled, zone: ZoneInfo, start: datetime, ticks: int, tick: timedelta) -> list[datetime]:
    """Return what fires in the `ticks` after `start`."""
    return fired(spelled, look_at_the_clock(zone, start, ticks, tick))


def _wall(instant: datetime, zone: ZoneInfo) -> datetime:
    local = instant.astimezone(zone)
    return datetime.combine(local.date(), local.time().replace(fold=0) if local.fold else local.time())
