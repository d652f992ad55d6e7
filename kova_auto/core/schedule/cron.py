"""Cron expressions: what they mean, and when they fire next.

Syntax and the rules around offset changes are croner 11's with its `no-wildcard` option; a run at a gap's end may fall
on the next date, as with Debian's cron. Policies for what was missed or overlaps are not decided here.

Source: reference on scheduling, 2.3 "Semantics to implement".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from difflib import get_close_matches
from typing import Final
from zoneinfo import ZoneInfo

from kova_auto.core.errors import ConfigError
from kova_auto.core.schedule.dates import ALL_YEARS, Dates
from kova_auto.core.schedule.fields import (
    DAYS,
    HOURS,
    MINUTES,
    MONTHS,
    SECONDS,
    STARS,
    YEARS,
    parse_days,
    parse_field,
    parse_weekdays,
    wrong,
)
from kova_auto.core.schedule.times import Times
from kova_auto.core.schedule.zone import SECOND, Shift, locate, offsets_of, shift_at, to_instant, to_wall

HORIZON_YEARS: Final = 150
_LAST_YEAR: Final = 9998
_DAY: Final = timedelta(days=1)
_LONGEST_MADE_UP_GAP: Final = timedelta(hours=3)
# A wildcard may meet nothing but gaps. In so many years each kind of year has had its turn; the next are no better.
_MOST_GAPS: Final = 60
_NICKNAMES: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


@dataclass(frozen=True, slots=True)
class Cron:
    """Hold one parsed expression; equal to any other that means the same.

    Attributes:
        is_fixed: Second, minute and hour are spelled out, so that an offset change neither drops nor doubles a run.
            With a leading star in one of them, the expression follows real time instead.
        text: As written.
        warnings: Sentences for a person: what other crons would understand differently.
    """

    dates: Dates
    times: Times
    is_fixed: bool
    text: str = field(compare=False)
    warnings: tuple[str, ...] = field(default=(), compare=False)

    def next_after(self, instant: datetime, zone: ZoneInfo) -> datetime | None:
        """Return the first firing strictly after `instant`, in UTC.

        Args:
            instant: Aware.
            zone: Whose wall clock the expression speaks of.

        Returns:
            None where nothing fires within 150 years, or all that would falls into gaps.
        """
        if instant.year > _LAST_YEAR:
            return None
        wall = to_wall(instant, zone)
        last_year = min(wall.year + HORIZON_YEARS, _LAST_YEAR)
        shift = shift_at(wall, zone)
        if shift is None:
            return self._fire_from(wall + SECOND, zone, last_year)
        return self._fire_within(shift, wall, last_year) or self._fire_from(shift.stops, zone, last_year)

    def _fire_from(self, start: datetime, zone: ZoneInfo, last_year: int) -> datetime | None:
        """Return the first firing at a wall from `start` on, which no clock has shown yet."""
        for _ in range(_MOST_GAPS):
            wall = self._wall_from(start, last_year)
            if wall is None:
                return None
            before, after = offsets_of(wall, zone)
            if before >= after:
                return to_instant(wall, before)
            shift = locate(wall, before, after, zone)
            if self.is_fixed and shift.length < _LONGEST_MADE_UP_GAP:
                return shift.at
            start = shift.resumes
        return None

    def _fire_within(self, shift: Shift, wall: datetime, last_year: int) -> datetime | None:
        """Return the first firing after `wall` in what is left of a repeated stretch's two passes."""
        start = wall + SECOND
        if not wall.fold:
            found = self._wall_from(start, last_year)
            if found is not None and found < shift.stops:
                return to_instant(found, shift.before)
            start = shift.resumes
        if self.is_fixed:
            return None
        found = self._wall_from(start, last_year)
        return to_instant(found, shift.after) if found is not None and found < shift.stops else None

    def _wall_from(self, start: datetime, last_year: int) -> datetime | None:
        """Return the first wall not before `start` that every field allows."""
        found = self.times.on_or_after(start.hour, start.minute, start.second)
        today = start.date()
        day = self.dates.on_or_after(today if found else today + _DAY, last_year)
        if day is None:
            return None
        return datetime.combine(day, found if found and day == today else self.times.first())


def parse_cron(text: str) -> Cron:
    """Read an expression of five fields, of six (second first) or seven (year last), or a nickname.

    Raises:
        ConfigError: With key `cron`: names the field, what was wanted and a suggestion. A schedule that can never fire,
            as 30 February, is one too.
    """
    parts = _expand(text).split()
    if not 5 <= len(parts) <= 7:
        message = f"wanted 5 fields (minute hour day month weekday), 6 with seconds or 7 with years, found {len(parts)}"
        raise ConfigError(message, key="cron", hint="for example 30 8 * * MON-FRI")
    if len(parts) == 5:
        parts.insert(0, "0")
    second, minute, hour, day, month, weekday, *year = parts
    times = Times(parse_field(hour, HOURS), parse_field(minute, MINUTES), parse_field(second, SECONDS))
    days, workdays = parse_days(day)
    is_both = weekday.startswith("+")
    weekday = weekday.removeprefix("+")
    weeks, last_weekdays = parse_weekdays(weekday)
    dates = Dates(
        years=ALL_YEARS if not year else parse_field(year[0], YEARS),
        months=parse_field(month, MONTHS),
        days=days,
        workdays=workdays,
        weeks=weeks,
        last_weekdays=last_weekdays,
        needs_both=is_both or day in STARS or weekday in STARS,
    )
    _refuse_never(dates, day)
    is_fixed = not any(part.startswith(STARS) for part in (second, minute, hour))
    return Cron(dates, times, is_fixed, text, () if dates.needs_both else _star_warning(day, weekday))


def _expand(text: str) -> str:
    name = text.strip().lower()
    if not name.startswith("@"):
        return text
    if name in _NICKNAMES:
        return _NICKNAMES[name]
    message = f"wanted one of {', '.join(_NICKNAMES)}, found {text.strip()!r}"
    raise ConfigError(message, key="cron", hint=_nickname_hint(name))


def _nickname_hint(name: str) -> str:
    if name == "@reboot":
        return 'write on = "startup" instead of cron'
    if name.startswith("@every"):
        return f'write every = "{name.removeprefix("@every").strip() or "5m"}" instead of cron'
    likely = get_close_matches(name, _NICKNAMES, n=1)
    return f"did you mean {likely[0]}?" if likely else "for example @daily"


def _refuse_never(dates: Dates, day: str) -> None:
    """Refuse dates that no calendar holds."""
    if not dates.exist(_LAST_YEAR):
        wanted = "a day that exists in the months and years given"
        raise wrong(DAYS, wanted, day, "this would never fire; the last day of any month is L")


def _star_warning(day: str, weekday: str) -> tuple[str, ...]:
    """Warn of day fields that other crons join by "and" because one begins with a star.

    Source: reference on scheduling, 2.3 (4).
    """
    if not day.startswith(STARS) and not weekday.startswith(STARS):
        return ()
    fields = f"day of month {day!r} and weekday {weekday!r}"
    return (f"{fields}: a date that fits either one fires; Debian's cron wants both (for that, write +{weekday})",)
