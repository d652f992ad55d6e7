"""Build timetables for tests; and a second, slow opinion on them: look at every instant that the trigger implies."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

from kova_auto.core.schedule.cron import parse_cron
from kova_auto.core.schedule.exclusions import (
    NOTHING,
    Calendar,
    Exclusions,
    parse_hours,
    parse_weekdays,
    union,
)
from kova_auto.core.schedule.timetable import Timetable
from kova_auto.core.schedule.triggers import AtTrigger, CronTrigger, EveryTrigger, Trigger, next_fire
from kova_auto.core.schedule.zone import parse_zone
from tests.core.schedule.schedule_oracle import utc

NAMES = ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")


def cron(*expressions: str, zone: str = "Europe/Berlin") -> CronTrigger:
    return CronTrigger(tuple(map(parse_cron, expressions)), parse_zone(zone))


def timetable(
    trigger: Trigger | str,
    *,
    zone: str = "Europe/Berlin",
    job: str = "triage",
    start: str = "",
    end: str = "",
    exclude: Exclusions = NOTHING,
    jitter: timedelta = timedelta(0),
) -> Timetable:
    """Return a timetable; text is a cron expression, bounds are UTC."""
    return Timetable(
        job,
        cron(trigger, zone=zone) if isinstance(trigger, str) else trigger,
        parse_zone(zone),
        utc(start) if start else None,
        utc(end) if end else None,
        exclude,
        jitter,
    )


def excluding(
    *weekdays: str, dates: tuple[str, ...] = (), hours: tuple[str, ...] = (), holidays: tuple[str, ...] = ()
) -> Exclusions:
    return Exclusions(
        frozenset(map(date.fromisoformat, dates)),
        union(list(map(parse_weekdays, weekdays))),
        tuple(map(parse_hours, hours)),
        (Calendar("holidays", frozenset(map(date.fromisoformat, holidays))),) if holidays else (),
    )


@dataclass(frozen=True)
class Written:
    """Hold exclusions as a person wrote them."""

    dates: tuple[str, ...]
    weekdays: tuple[str, ...]
    hours: tuple[tuple[int, int], ...]
    holidays: tuple[str, ...]

    @property
    def parsed(self) -> Exclusions:
        hours = tuple(f"{_clock(first)}-{_clock(until)}" for first, until in self.hours)
        return excluding(*self.weekdays, dates=self.dates, hours=hours, holidays=self.holidays)

    def holds(self, instant: datetime, zone: ZoneInfo) -> bool:
        """Say whether an instant is excluded, by its looks."""
        shown = instant.astimezone(zone)
        minute = shown.hour * 60 + shown.minute
        day = shown.strftime("%Y-%m-%d")
        return (
            day in self.dates
            or day in self.holidays
            or NAMES[shown.weekday()] in self.weekdays
            or any(minute in _minutes(first, until) for first, until in self.hours)
        )


@dataclass(frozen=True)
class Known:
    """Hold a timetable with what is expected of it in one stretch of time."""

    timetable: Timetable
    after: datetime
    until: datetime
    implied: tuple[datetime, ...] = field(repr=False)
    open: tuple[datetime, ...] = field(repr=False)


ZONES = ("Europe/Berlin", "America/Havana", "Australia/Lord_Howe", "America/Santiago", "Africa/Cairo", "Asia/Kolkata")
# Around each of these, one of the zones puts its clocks forward or back.
DAYS = ("2026-03-08", "2026-03-29", "2026-04-04", "2026-04-24", "2026-09-05", "2026-10-03", "2026-10-24", "2026-11-01")
PACES = ("*/17 * * * *", "0,30 * * * *", "30 2 * * *", "0 0 * * *", "15 1-3 * * *", "0 */2 * * MON-SAT", "5 0 L * *")
NO_DELAY = st.just(timedelta(0))
_MOMENTS = st.integers(-2 * 1440, 2 * 1440).map(lambda minutes: timedelta(minutes=minutes))
_STRETCHES = st.tuples(st.integers(0, 1439), st.integers(0, 1439)).filter(lambda pair: pair[0] != pair[1])


@st.composite
def written(draw: st.DrawFn, day: datetime) -> Written:
    near = st.integers(-9, 9).map(lambda days: f"{day + timedelta(days=days):%Y-%m-%d}")
    dates, holidays = (tuple(draw(st.lists(near, max_size=3))) for _ in range(2))
    weekdays = tuple(draw(st.lists(st.sampled_from(NAMES), max_size=5, unique=True)))
    hours = tuple(draw(st.lists(_STRETCHES, max_size=2)))
    if {minute for first, until in hours for minute in _minutes(first, until)} == set(range(1440)):
        hours = hours[:1]
    return Written(dates, weekdays, hours, holidays)


@st.composite
def triggers(draw: st.DrawFn, day: datetime, zone: str) -> Trigger:
    match draw(st.sampled_from(("cron", "every", "at"))):
        case "cron":
            return cron(*draw(st.lists(st.sampled_from(PACES), min_size=1, max_size=2)), zone=zone)
        case "every":
            minutes, seconds = draw(st.integers(9, 2000)), draw(st.sampled_from((0, 0.5, 30)))
            return EveryTrigger(timedelta(minutes=minutes, seconds=seconds), day + draw(_MOMENTS))
        case _:
            return AtTrigger(tuple(day + moment for moment in draw(st.lists(_MOMENTS, max_size=20))))


@st.composite
def known(draw: st.DrawFn, *, jitter: st.SearchStrategy[timedelta] = NO_DELAY) -> Known:
    """Draw any timetable near a change of clocks, in a stretch of up to some days."""
    zone, day = draw(st.sampled_from(ZONES)), utc(draw(st.sampled_from(DAYS)))
    trigger, excluded = draw(triggers(day, zone)), draw(written(day))
    start, end = (draw(st.none() | _MOMENTS.map(lambda moment: day + moment)) for _ in range(2))
    after, until = sorted((day + draw(_MOMENTS), day + draw(_MOMENTS)))
    found = Timetable("triage", trigger, parse_zone(zone), start, end, excluded.parsed, draw(jitter))
    implied = tuple(
        instant
        for instant in _walk(trigger, after, until)
        if (start is None or instant >= start) and (end is None or instant < end)
    )
    allowed = tuple(instant for instant in implied if not excluded.holds(instant, parse_zone(zone)))
    return Known(found, after, until, implied, allowed)


def _walk(trigger: Trigger, after: datetime, until: datetime) -> list[datetime]:
    found: list[datetime] = []
    while (following := next_fire(trigger, after)) is not None and following <= until:
        found.append(following)
        after = following
    return found


def _minutes(first: int, until: int) -> set[int]:
    """Return the minutes of a day from one to before another, over midnight where that is earlier."""
    return set(range(first, until)) if first < until else set(range(first, 1440)) | set(range(until))


def _clock(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"
