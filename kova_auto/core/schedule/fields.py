"""The grammar of one field of a cron expression: numbers, names, ranges, steps and lists.

What a person writes wrongly is told with the field's name, what was wanted, and what to write instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kova_auto.core.errors import ConfigError
from kova_auto.core.schedule.dates import EACH_WEEK, LAST
from kova_auto.core.schedule.mask import Mask, span

STARS: Final = ("*", "?")


@dataclass(frozen=True, slots=True)
class Field:
    """Describe a field: its name, the numbers a star stands for, and how a person may spell them.

    Attributes:
        names: Spelled numbers in upper case, the first for `low`.
        highest: The highest number that may be written; `high`, but for weekdays, where 7 is Sunday too.
        example: Shown where nothing better can be suggested.
    """

    name: str
    low: int
    high: int
    example: str
    highest: int
    names: tuple[str, ...] = ()

    @property
    def wanted(self) -> str:
        """Say what the field takes."""
        spelled = f" or {self.names[0]}-{self.names[-1]}" if self.names else ""
        return f"{self.low}-{self.highest}{spelled}"


SECONDS: Final = Field("second", 0, 59, "0,30", 59)
MINUTES: Final = Field("minute", 0, 59, "*/15", 59)
HOURS: Final = Field("hour", 0, 23, "9-17", 23)
DAYS: Final = Field("day of month", 1, 31, "1,15 or L", 31)
_MONTH_NAMES: Final = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAY_NAMES: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
MONTHS: Final = Field("month", 1, 12, "JAN or 1-6", 12, _MONTH_NAMES)
WEEKDAYS: Final = Field("weekday", 0, 6, "MON-FRI", 7, _WEEKDAY_NAMES)
YEARS: Final = Field("year", 1, 9999, "2027-2029", 9999)


def parse_field(text: str, field: Field) -> Mask:
    """Return the numbers that a plain field names.

    Raises:
        ConfigError: With key `cron`, the field's name in the message and a suggestion.
    """
    mask = 0
    for item in text.split(","):
        mask |= _parse_item(item, field)
    return mask


def parse_days(text: str) -> tuple[Mask, Mask]:
    """Return the days of the month, and the days that stand for the nearest workday, `LAST` among both.

    Raises:
        ConfigError: As `parse_field`.
    """
    days = workdays = 0
    for item in text.split(","):
        upper = item.upper()
        if upper == "L":
            days |= 1 << LAST
        elif upper == "LW":
            workdays |= 1 << LAST
        elif upper.endswith("W"):
            workdays |= 1 << _parse_workday(item)
        else:
            days |= _parse_item(item, DAYS)
    return days, workdays


def parse_weekdays(text: str) -> tuple[Mask, Mask]:
    """Return the weekdays of each of a month's weeks, as `Dates` holds them, and those meant as the month's last.

    Raises:
        ConfigError: As `parse_field`.
    """
    weeks = last = 0
    for item in text.split(","):
        body, hashed, nth = item.partition("#")
        nth = nth.upper()
        if not hashed and len(body) > 1 and body.endswith(("L", "l")):
            body, nth = body[:-1], "L"
        elif hashed and nth not in ("1", "2", "3", "4", "5", "L"):
            raise wrong(WEEKDAYS, "1 to 5 or L after #", item, "5#2 is the second Friday, 5#L the last")
        if nth and ("/" in body or body in STARS):
            raise wrong(WEEKDAYS, "a weekday or a range of them before # or L", item, "5#2 is the second Friday")
        found = _sunday_first(_parse_item(body, WEEKDAYS))
        if nth == "L":
            last |= found
        else:
            weeks |= found << 7 * (int(nth) - 1) if nth else found * EACH_WEEK
    return weeks, last


def wrong(field: Field, wanted: str, found: str, hint: str = "") -> ConfigError:
    """Build the complaint about a field."""
    message = f"{field.name}: wanted {wanted}, found {found!r}"
    return ConfigError(message, key="cron", hint=hint or f"for example {field.example}")


def _parse_item(item: str, field: Field) -> Mask:
    body, slash, step_text = item.partition("/")
    is_range = "-" in body
    if body in STARS:
        low, high = field.low, field.high
    elif is_range:
        low, high = _parse_range(body, field)
    else:
        low = high = _parse_number(body, field, item)
    if not slash:
        return span(low, high)
    if body not in STARS and not is_range:
        raise wrong(field, "a range or * before the step", item, f"write {body}-{field.high}/{step_text}")
    return span(low, high, _parse_step(step_text, field, item))


def _parse_range(body: str, field: Field) -> tuple[int, int]:
    start, _, end = body.partition("-")
    low, high = _parse_number(start, field, body), _parse_number(end, field, body)
    if high < low and field is WEEKDAYS and end.upper() == "SUN":
        high = 7
    if high < low:
        raise wrong(field, "a range that ascends", body, f"write {_wrapped(start, end, field)}")
    return low, high


def _wrapped(start: str, end: str, field: Field) -> str:
    """Spell a range that runs over the field's end as two."""
    is_spelled = not start.isdigit()
    top, bottom = (field.names[-1], field.names[0]) if is_spelled else (str(field.high), str(field.low))
    halves = ((start, top), (bottom, end))
    return ",".join(low if low == high else f"{low}-{high}" for low, high in halves)


def _parse_step(text: str, field: Field, item: str) -> int:
    size = field.high - field.low + 1
    if field is YEARS and item[0] in STARS:
        raise wrong(field, "a range before the step, to say where it begins", item, f"write 2026-2099/{text or 2}")
    step = _digits(text)
    if step is None or not 1 <= step <= size:
        raise wrong(field, f"a step from 1 to {size}", item, _suggest_interval(step, field))
    return step


def _parse_workday(item: str) -> int:
    number = _digits(item[:-1])
    if number is None or not DAYS.low <= number <= DAYS.high:
        raise wrong(DAYS, "one day before W", item, "15W is the Monday to Friday nearest the 15th, LW the month's last")
    return number


def _parse_number(text: str, field: Field, item: str) -> int:
    number = _digits(text)
    if number is not None and field.low <= number <= field.highest:
        return number
    upper = text.upper()
    if upper in field.names and text.isascii():  # a long s is an S in upper case
        return field.names.index(upper) + field.low
    raise wrong(field, field.wanted, item, _suggest(upper, field, item))


def _digits(text: str) -> int | None:
    # `isdigit` alone takes digits of every script; more of them than nine name nothing a calendar knows.
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else None


def _suggest(text: str, field: Field, item: str) -> str:
    if not item:
        return "take out the extra comma"
    if text[:3] in field.names and text.isalpha():
        return f"write {text[:3]}"
    if field is HOURS and text == "24":
        return "midnight is hour 0"
    if field is DAYS and text.startswith("L"):
        return "L is the last day, LW the last Monday to Friday; an offset from it cannot be written"
    if field is WEEKDAYS and text == "L":
        return "SAT is Saturday, SATL the month's last"
    if field is WEEKDAYS and len(text) == 4 and text.isdigit():
        return "a year needs all seven fields: second minute hour day month weekday year"
    return ""


def _suggest_interval(step: int | None, field: Field) -> str:
    if step and field in (SECONDS, MINUTES, HOURS):
        return (
            f'a step begins anew with each round; for an interval write every = "{step}{field.name[0]}" instead of cron'
        )
    return ""


def _sunday_first(days: Mask) -> Mask:
    """Turn a 7 for Sunday into 0."""
    return days & 0b1111111 | days >> 7
