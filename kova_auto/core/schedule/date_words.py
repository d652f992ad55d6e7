"""Dates, in words."""

from __future__ import annotations

from datetime import date
from typing import Final

from kova_auto.core.schedule.dates import ALL_DAYS, ALL_MONTHS, ALL_YEARS, LAST, Dates
from kova_auto.core.schedule.mask import Mask, members, span
from kova_auto.core.schedule.words import listing, ordinal, runs

_WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS: Final = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_NTH: Final = ("first", "second", "third", "fourth", "fifth")
_WEEK: Final = span(0, 6)
_MONDAY_TO_FRIDAY: Final = span(1, 5)
_WEEKEND: Final = span(0, 0) | span(6, 6)


def say_dates(dates: Dates) -> str:
    """Say on which dates something happens, as "on weekdays in May"; nothing for every day."""
    numbers, weekly, counted = _say_numbers(dates), _weekly(dates.weeks), _say_counted(dates)
    is_any_day = not dates.needs_both and (dates.days & ALL_DAYS == ALL_DAYS or weekly == _WEEK)
    if weekly == _WEEK or is_any_day:
        weekly, counted = 0, []
    if is_any_day:
        numbers = []
    words = _join(dates, numbers, weekly, counted)
    months = "" if dates.months == ALL_MONTHS else runs(members(dates.months), lambda month: _MONTHS[month - 1])
    if months and words.endswith(" of the month") and not weekly and not (numbers and counted):
        words = f"{words.removesuffix('the month')}{months}"
    elif months:
        words += f" in {months}"
    if dates.years != ALL_YEARS:
        words += f" in {runs(members(dates.years), str)}"
    return words.strip()


def say_date(day: date) -> str:
    """Say one date, as "25 December 2026"."""
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def say_every(weekdays: Mask) -> str:
    """Say weekdays that come every week, as "Saturdays" or "weekends"."""
    if weekdays in (_MONDAY_TO_FRIDAY, _WEEKEND):
        return _say_weekly(weekdays)
    return _say_names(weekdays, plural="s")


def _join(dates: Dates, numbers: list[str], weekly: Mask, counted: list[str]) -> str:
    by_number = f"on {listing(numbers)} of the month" if numbers else ""
    names = [_say_weekly(weekly)] if weekly else []
    nth = [f"{listing(counted)} of the month"] if counted else []
    if not names and not nth:
        return by_number
    if not numbers:
        return f"on {listing(names + nth)}"
    if dates.needs_both:
        return f"{by_number} if that is {' or '.join(names + nth)}"
    return f"{by_number} and also on {listing(names + nth)}"


def _say_numbers(dates: Dates) -> list[str]:
    if dates.days & ALL_DAYS == ALL_DAYS:
        return []
    plain = dates.days & ALL_DAYS
    words = [f"the {runs(members(plain), ordinal)}"] if plain else []
    words += [f"the weekday nearest the {ordinal(day)}" for day in members(dates.workdays, LAST + 1)]
    if dates.days >> LAST & 1:
        words.append("the last day")
    if dates.workdays >> LAST & 1:
        words.append("the last weekday")
    return words


def _weekly(weeks: Mask) -> Mask:
    """Return the weekdays that count in every week."""
    found = _WEEK
    for week in range(5):
        found &= weeks >> 7 * week
    return found


def _say_weekly(weekdays: Mask) -> str:
    if weekdays == _MONDAY_TO_FRIDAY:
        return "weekdays"
    if weekdays == _WEEKEND:
        return "weekends"
    return _say_names(weekdays)


def _say_names(weekdays: Mask, plural: str = "") -> str:
    monday_first = sorted((day - 1) % 7 for day in members(weekdays))
    return runs(monday_first, lambda day: f"{_WEEKDAYS[day]}{plural}")


def _say_counted(dates: Dates) -> list[str]:
    """Say the weekdays that count only in some weeks of the month."""
    every_week = _weekly(dates.weeks)
    weeks = [dates.weeks >> 7 * week & _WEEK & ~every_week for week in range(5)]
    words = [f"the {_NTH[week]} {_say_names(days)}" for week, days in enumerate(weeks) if days]
    last = dates.last_weekdays & ~every_week
    return [*words, f"the last {_say_names(last)}"] if last else words
