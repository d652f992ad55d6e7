"""When nothing runs although a schedule implies it: dates, weekdays, hours, calendars, as the local clock shows them.

An exclusion never changes which instants are implied; it says of each whether it is skipped, and why.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from kova_auto.core.errors import ConfigError
from kova_auto.core.schedule.mask import Mask, span
from kova_auto.core.schedule.search import TICK

EVERY_DAY: Final = span(0, 6)
EXCLUDED: Final = "excluded"
_SHORT: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_LONG: Final = ("SUNDAY", "MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY")
_HOURS: Final = re.compile(r"(\d{1,2}):(\d\d)\s*[-\u2013]\s*(\d{1,2}):(\d\d)", re.ASCII)
_DAY: Final = timedelta(days=1)
_MINUTES: Final = 24 * 60
_MOST_HOPS: Final = 1_000


class Hours(NamedTuple):
    """Hold a stretch of each day from `first` to before `until`; over midnight where `until` is not later."""

    first: time
    until: time

    def __str__(self) -> str:
        """Write it as it stands in a file."""
        return f"{self.first:%H:%M}-{self.until:%H:%M}"

    def holds(self, moment: time) -> bool:
        """Say whether a time of day lies in it."""
        if self.first < self.until:
            return self.first <= moment < self.until
        return moment >= self.first or moment < self.until

    def ends(self, wall: datetime) -> datetime:
        """Return the wall at which the stretch that `wall` lies in is over."""
        end = datetime.combine(wall.date(), self.until)
        return end if end > wall else end + _DAY


class Calendar(NamedTuple):
    """Hold the dates of a calendar of the settings, as holidays."""

    name: str
    dates: frozenset[date]


@dataclass(frozen=True, slots=True)
class Exclusions:
    """Hold all that is excluded.

    Attributes:
        weekdays: Bit 0 is Sunday, bit 6 Saturday.

    Raises:
        ConfigError: No weekday, or no time of day, is left.
    """

    dates: frozenset[date] = frozenset()
    weekdays: Mask = 0
    hours: tuple[Hours, ...] = ()
    calendars: tuple[Calendar, ...] = ()

    def __post_init__(self) -> None:
        if self.weekdays == EVERY_DAY:
            message = "wanted at least one weekday that is left, found none"
            raise ConfigError(message, key="weekdays")
        if self.hours and all(map(self._is_in_hours, range(_MINUTES))):
            message = "wanted at least one minute of the day that is left, found none"
            raise ConfigError(message, key="hours")

    def __bool__(self) -> bool:
        """Say whether anything is excluded."""
        return bool(self.dates or self.weekdays or self.hours or self.calendars)

    def why(self, wall: datetime) -> str:
        """Return what excludes a wall, as `excluded: weekday SAT`; empty where nothing does."""
        reason = self._day(wall.date()) or next((f"hours {hours}" for hours in self._hours_at(wall)), "")
        return f"{EXCLUDED}: {reason}" if reason else ""

    def ends(self, wall: datetime) -> datetime:
        """Return a wall up to which all are excluded, from `wall` on; that one itself where it is not excluded."""
        if self._day(wall.date()):
            return datetime.combine(wall.date(), time()) + _DAY
        return max((hours.ends(wall) for hours in self._hours_at(wall)), default=wall)

    def _day(self, day: date) -> str:
        """Return what excludes a whole day."""
        if day in self.dates:
            return f"date {day}"
        for name, dates in self.calendars:
            if day in dates:
                return f"calendar {name}"
        weekday = day.isoweekday() % 7
        return f"weekday {_SHORT[weekday]}" if self.weekdays >> weekday & 1 else ""

    def _hours_at(self, wall: datetime) -> Iterable[Hours]:
        moment = wall.time()
        return (hours for hours in self.hours if hours.holds(moment))

    def _is_in_hours(self, minute: int) -> bool:
        moment = time(*divmod(minute, 60))
        return any(hours.holds(moment) for hours in self.hours)


NOTHING: Final = Exclusions()


def opens_at(exclude: Exclusions, instant: datetime, zone: ZoneInfo) -> datetime:
    """Return the first instant from `instant` on that is not excluded, in UTC.

    After a thousand stretches that follow upon one another, which nobody writes, it is one that may be excluded still.
    """
    for _ in range(_MOST_HOPS):
        wall = instant.astimezone(zone).replace(tzinfo=None, fold=0)
        end = exclude.ends(wall)
        if end == wall:
            break
        instant = _later(instant, end - wall, zone)
    return instant


def parse_date(written: str) -> date:
    """Read a date.

    Raises:
        ConfigError: It is none.
    """
    try:
        return date.fromisoformat(written.strip())
    except ValueError as exc:
        message = f"wanted a date, found {written!r}"
        raise ConfigError(message, key="dates", hint="for example 2026-12-25") from exc


def parse_weekdays(written: str) -> Mask:
    """Read the name of a weekday, in English and in any case, or a range of two, which may go over the week's end.

    Raises:
        ConfigError: It is neither.
    """
    first, dash, last = written.partition("-")
    low, high = _weekday(first), _weekday(last if dash else first)
    if low is None or high is None:
        message = f"wanted a weekday as SAT, or a range as FRI-SUN, found {written!r}"
        raise ConfigError(message, key="weekdays", hint=f"one of {', '.join((*_SHORT[1:], _SHORT[0]))}")
    return span(low, high) if low <= high else span(low, 6) | span(0, high)


def parse_hours(written: str) -> Hours:
    """Read a stretch of the day, as `22:00-06:00`; its end is not part of it.

    Raises:
        ConfigError: It is none, or is empty.
    """
    match = _HOURS.fullmatch(written.strip())
    first, until = (_minute(*match.group(1, 2)), _minute(*match.group(3, 4))) if match else (None, None)
    if first is None or until is None or first == _MINUTES:
        message = f"wanted a stretch of the day as 22:00-06:00, found {written!r}"
        raise ConfigError(message, key="hours", hint="from 00:00 to 24:00; it may go over midnight")
    if first == until % _MINUTES:
        hint = "to have nothing run at all, kova-auto jobs pause" if until == _MINUTES else "leave it out"
        message = f"wanted two different times, found {written!r}"
        raise ConfigError(message, key="hours", hint=hint)
    return Hours(time(*divmod(first, 60)), time(*divmod(until % _MINUTES, 60)))


def union(masks: Collection[Mask]) -> Mask:
    """Return the weekdays that are in any of these."""
    found = 0
    for mask in masks:
        found |= mask
    return found


def _weekday(name: str) -> int | None:
    wanted = name.strip().upper()
    return next((names.index(wanted) for names in (_SHORT, _LONG) if wanted in names), None)


def _minute(hour: str, minute: str) -> int | None:
    found = int(hour) * 60 + int(minute)
    return found if int(minute) < 60 and found <= _MINUTES else None


def _later(instant: datetime, length: timedelta, zone: ZoneInfo) -> datetime:
    """Return the instant so much later, or the one at which the offset changes, if that is sooner.

    A stretch of the clock is no stretch of time where clocks are put back: hours in it may be shown again.
    """
    there, before = instant + length, instant.astimezone(zone).utcoffset()
    if there.astimezone(zone).utcoffset() == before:
        return there
    here = instant
    while there - here > TICK:
        middle = here + (there - here) // 2
        if middle.astimezone(zone).utcoffset() == before:
            here = middle
        else:
            there = middle
    return there
