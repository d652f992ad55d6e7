"""Which dates a schedule covers: years, months, and days by number or by weekday.

Weekdays count from Sunday = 0, as cron's do. Times of day and time zones are left to others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from typing import Final

from kova_auto.core.schedule.mask import Mask, first_from, lowest, members, span

LAST: Final = 0
"""The day number, which no date has, that stands for the last day of whichever month it is."""
ALL_DAYS: Final = span(1, 31)
ALL_MONTHS: Final = span(1, 12)
ALL_YEARS: Final = span(1, 9999)
EACH_WEEK: Final = span(0, 28, 7)
ALL_WEEKS: Final = span(0, 34)
_HEADS: Final = tuple(span(0, 6 - first) * EACH_WEEK for first in range(7))
_WHOLE: Final = tuple(span(1, length) for length in range(32))
_LENGTHS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_SATURDAY: Final = 6
_SUNDAY: Final = 0
_CYCLE_YEARS: Final = 400
"""After so many, dates fall on the same weekdays again."""
_CYCLE: Final = span(0, _CYCLE_YEARS - 1)
_KINDS_OF_YEAR: Final = 14
"""A calendar is told by the weekday of its first day and by whether it has a 29 February."""


@dataclass(frozen=True, slots=True)
class Dates:
    """Hold the dates of a schedule.

    Attributes:
        years: Members are 1 to 9999.
        months: Members are 1 to 12.
        days: Days of the month, and `LAST`.
        workdays: Days that stand for the nearest Monday to Friday of the same month, and `LAST`.
        weeks: Bit 7 * n + weekday stands for that weekday where it is the month's (n + 1)th.
        last_weekdays: Weekdays that count only as the last of their kind in the month.
        needs_both: A date must fit the days and the weekdays; otherwise either will do.
    """

    years: Mask
    months: Mask
    days: Mask
    workdays: Mask
    weeks: Mask
    last_weekdays: Mask
    needs_both: bool

    def exist(self, last_year: int) -> bool:
        """Say whether the calendar holds any of these dates to the end of `last_year`."""
        folded, rest = 0, self.years & span(1, last_year)
        while rest:
            folded |= rest & _CYCLE
            rest >>= _CYCLE_YEARS
        one_cycle = replace(self, years=folded << _CYCLE_YEARS)
        return one_cycle.on_or_after(date(_CYCLE_YEARS, 1, 1), 2 * _CYCLE_YEARS - 1) is not None

    def on_or_after(self, day: date, last_year: int) -> date | None:
        """Return the first covered date from `day` to the end of `last_year`, or None."""
        year, month = day.year, day.month
        if self.years >> year & 1 and self.months >> month & 1 and year <= last_year:
            found = first_from(self.in_month(year, month), day.day)
            if found is not None:
                return date(year, month, found)
        return self._after_month(year, month, last_year)

    def _after_month(self, year: int, month: int, last_year: int) -> date | None:
        """Return the first covered date of a later month, looking at no more than one year of each kind."""
        barren: set[tuple[int, bool]] = set()
        for candidate in range(year, last_year + 1):
            if not self.years >> candidate & 1:
                continue
            kind = date(candidate, 1, 1).weekday(), _is_leap(candidate)
            if kind in barren:
                continue
            for number in members(self.months, month + 1 if candidate == year else 1):
                if days := self.in_month(candidate, number):
                    return date(candidate, number, lowest(days))
            if candidate != year:
                barren.add(kind)
                if len(barren) == _KINDS_OF_YEAR:
                    break
        return None

    def in_month(self, year: int, month: int) -> Mask:
        """Return the covered days of one month."""
        length = _LENGTHS[month - 1] + (month == 2 and _is_leap(year))
        first = date(year, month, 1).isoweekday() % 7
        whole = _WHOLE[length]
        by_number = self.days & whole
        if self.days >> LAST & 1:
            by_number |= 1 << length
        if self.workdays:
            by_number |= _nearest_workdays(self.workdays, first, length)
        by_weekday = _to_days(self.weeks, first) & whole
        if self.last_weekdays:
            by_weekday |= _to_days(self.last_weekdays * EACH_WEEK, first) & span(length - 6, length)
        return by_number & by_weekday if self.needs_both else by_number | by_weekday


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _to_days(weeks: Mask, first: int) -> Mask:
    """Turn weekdays into day numbers, by rotating each week of a month that begins on weekday `first`."""
    head = _HEADS[first]
    rotated = ((weeks >> first) & head) | ((weeks << (7 - first)) & (ALL_WEEKS ^ head))
    return rotated << 1


def _nearest_workdays(days: Mask, first: int, length: int) -> Mask:
    found = 0
    for number in members(days):
        day = length if number == LAST else number
        if day > length:
            continue
        weekday = (first + day - 1) % 7
        if weekday == _SATURDAY:
            day += 2 if day == 1 else -1
        elif weekday == _SUNDAY:
            day += -2 if day == length else 1
        found |= 1 << day
    return found
