"""Times of day, in words."""

from __future__ import annotations

from datetime import time, timedelta
from typing import Final

from kova_auto.core.schedule.mask import Mask, lowest, members, span
from kova_auto.core.schedule.times import Times
from kova_auto.core.schedule.words import listing, runs

ALL_HOURS: Final = span(0, 23)
_ALL_MINUTES: Final = span(0, 59)
_ON_THE_MINUTE: Final = span(0, 0)
_LONGEST_LISTING: Final = 4
_UNITS: Final = (("day", timedelta(days=1)), ("hour", timedelta(hours=1)), ("minute", timedelta(minutes=1)))


def say_times(times: Times) -> str:
    """Say at what times of a day something happens, as "at 08:30" or "every 15 minutes from 08:00 to 17:45"."""
    hours, minutes, seconds = times.hours, times.minutes, times.seconds
    if hours.bit_count() * minutes.bit_count() * seconds.bit_count() <= _LONGEST_LISTING:
        return _say_all(times)
    if seconds != _ON_THE_MINUTE:
        return _say_seconds(times)
    if minutes.bit_count() == 1:
        return _say_hourly(times)
    pace = _pace(minutes, 60, "minute")
    if not pace:
        return f"at {_named(minutes, 'minute')} of {_hours(hours)}"
    if hours == ALL_HOURS:
        return pace
    return pace + (_say_from_to(times) or f" of {_hours(hours)}")


def say_duration(duration: timedelta) -> str:
    """Say how long, as "1 hour and 30 minutes"."""
    words: list[str] = []
    for unit, length in _UNITS:
        count, duration = divmod(duration, length)
        if count:
            words.append(f"{count} {unit}{'s' if count > 1 else ''}")
    if duration:
        seconds = duration.total_seconds()
        words.append(f"{seconds:g} second{'' if seconds == 1 else 's'}")
    return listing(words)


def _say_all(times: Times) -> str:
    clock = "%H:%M" if times.seconds == _ON_THE_MINUTE else "%H:%M:%S"
    moments = [
        time(hour, minute, second).strftime(clock)
        for hour in members(times.hours)
        for minute in members(times.minutes)
        for second in members(times.seconds)
    ]
    return f"at {listing(moments)}"


def _say_seconds(times: Times) -> str:
    pace = _pace(times.seconds, 60, "second")
    if times.minutes != _ALL_MINUTES:
        within = f" of {_named(times.minutes, 'minute')} of {_hours(times.hours)}"
    elif times.hours != ALL_HOURS:
        within = f" of {_hours(times.hours)}"
    else:
        within = "" if pace else " of every minute"
    return f"{pace or 'at ' + _named(times.seconds, 'second')}{within}"


def _say_hourly(times: Times) -> str:
    """Say what happens once in each of many hours."""
    minute = lowest(times.minutes)
    pace = _pace(times.hours, 24, "hour")
    if pace:
        return f"{pace} at minute {minute}" if minute else pace
    from_to = _say_from_to(times)
    return f"every hour{from_to}" if from_to else _say_all(times)


def _say_from_to(times: Times) -> str:
    """Say the first and last time of an unbroken stretch of hours; nothing for a broken one."""
    first, last = lowest(times.hours), times.hours.bit_length() - 1
    if times.hours != span(first, last):
        return ""
    return f" from {first:02}:{lowest(times.minutes):02} to {last:02}:{times.minutes.bit_length() - 1:02}"


def _hours(hours: Mask) -> str:
    return "every hour" if hours == ALL_HOURS else _named(hours, "hour")


def _pace(mask: Mask, size: int, unit: str) -> str:
    """Say an even rhythm that never stumbles, as "every 5 minutes"; nothing for an uneven one."""
    if mask == span(0, size - 1):
        return f"every {unit}"
    step = size // mask.bit_count()
    return f"every {step} {unit}s" if size % step == 0 and mask == span(0, size - 1, step) else ""


def _named(mask: Mask, unit: str) -> str:
    return f"{unit}{'s' if mask.bit_count() > 1 else ''} {runs(members(mask), str)}"
