"""What a person writes into `exclude`, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kova_auto.core.errors import ConfigError
from kova_auto.core.schedule.exclusions import (
    Exclusions,
    Hours,
    opens_at,
    parse_date,
    parse_hours,
    parse_weekdays,
)
from kova_auto.core.schedule.zone import parse_zone
from tests.core.schedule.schedule_oracle import WEEKDAYS, utc
from tests.core.schedule.timetables import DAYS, ZONES, Written, excluding, written

DAYS_FIRST = "one of MON, TUE, WED, THU, FRI, SAT, SUN"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("SAT", "SAT"),
        ("sunday", "SUN"),
        (" Mon ", "MON"),
        ("MON-WED", "MON TUE WED"),
        ("fri - sun", "SUN FRI SAT"),
        ("SAT-MON", "SUN MON SAT"),
        ("TUE-TUE", "TUE"),
    ],
)
def test_a_weekday_has_its_english_name_and_a_range_two(text: str, names: str) -> None:
    found = parse_weekdays(text)
    assert " ".join(name for day, name in enumerate(WEEKDAYS) if found >> day & 1) == names


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("22:00-06:00", Hours(time(22), time(6))),
        ("9:30 - 10:15", Hours(time(9, 30), time(10, 15))),
        ("22:00\u201306:00", Hours(time(22), time(6))),
        ("18:00-24:00", Hours(time(18), time(0))),
        ("00:00-00:01", Hours(time(0), time(0, 1))),
    ],
)
def test_hours_are_a_stretch_of_the_day(text: str, hours: Hours) -> None:
    assert parse_hours(text) == hours


@pytest.mark.parametrize(
    ("parse", "text", "message", "hint"),
    [
        (parse_date, "25.12.2026", "wanted a date, found '25.12.2026'", "for example 2026-12-25"),
        (parse_date, "2026-02-30", "wanted a date, found '2026-02-30'", "for example 2026-12-25"),
        (parse_date, "2026-12-25T09:00", "wanted a date, found '2026-12-25T09:00'", "for example 2026-12-25"),
        (parse_weekdays, "6", "wanted a weekday as SAT, or a range as FRI-SUN, found '6'", DAYS_FIRST),
        (parse_weekdays, "SAT,SUN", "wanted a weekday as SAT, or a range as FRI-SUN, found 'SAT,SUN'", DAYS_FIRST),
        (parse_weekdays, "", "wanted a weekday as SAT, or a range as FRI-SUN, found ''", DAYS_FIRST),
        (parse_weekdays, "MON-", "wanted a weekday as SAT, or a range as FRI-SUN, found 'MON-'", DAYS_FIRST),
        *(
            (
                parse_hours,
                text,
                f"wanted a stretch of the day as 22:00-06:00, found {text!r}",
                "from 00:00 to 24:00; it may go over midnight",
            )
            for text in ("22-06", "22:00", "22:60-06:00", "24:00-06:00", "25:00-06:00", "22:00-24:01", "٢٢:00-06:00")
        ),
        (parse_hours, "06:00-06:00", "wanted two different times, found '06:00-06:00'", "leave it out"),
        (
            parse_hours,
            "00:00-24:00",
            "wanted two different times, found '00:00-24:00'",
            "to have nothing run at all, kova-auto jobs pause",
        ),
    ],
)
def test_what_is_none_of_them_is_refused_with_a_suggestion(
    parse: Callable[[str], object], text: str, message: str, hint: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text)
    assert (caught.value.message, caught.value.hint) == (message, hint)


@pytest.mark.parametrize(
    ("weekdays", "hours", "key"),
    [(("MON-THU", "FRI-SUN"), (), "weekdays"), ((), ("06:00-18:00", "17:59-06:00"), "hours")],
)
def test_to_exclude_everything_is_refused(weekdays: tuple[str, ...], hours: tuple[str, ...], key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        excluding(*weekdays, hours=hours)
    assert (caught.value.key, "at least one" in caught.value.message) == (key, True)


def test_one_minute_is_enough_to_be_left() -> None:
    exclude = excluding(hours=("06:00-18:00", "18:01-06:00"))
    assert opens_at(exclude, utc("2026-01-01T18:02"), parse_zone("UTC")) == utc("2026-01-02T18:00")


def test_the_first_that_speaks_is_named() -> None:
    exclude = excluding("FRI", dates=("2026-12-25",), hours=("08:00-09:00",), holidays=("2026-12-25", "2026-12-26"))
    said = [exclude.why(datetime.fromisoformat(f"2026-12-{day}T08:30")) for day in (25, 26, 18, 17)]
    assert said == [
        "excluded: date 2026-12-25",
        "excluded: calendar holidays",
        "excluded: weekday FRI",
        "excluded: hours 08:00-09:00",
    ]


def test_nothing_excludes_nothing() -> None:
    assert (bool(Exclusions()), Exclusions().why(datetime.fromisoformat("2026-12-25"))) == (False, "")
    assert [bool(excluding("SAT")), bool(excluding(dates=("2026-01-01",)))] == [True, True]


def test_a_date_is_read_as_it_is_written() -> None:
    assert parse_date(" 2026-12-25 ") == date(2026, 12, 25)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Written, datetime, str]:
    day = utc(draw(st.sampled_from(DAYS)))
    return draw(written(day)), day + timedelta(minutes=draw(st.integers(-1440, 1440))), draw(st.sampled_from(ZONES))


@settings(deadline=None, max_examples=50)
@given(cases())
def test_the_next_open_instant_is_the_one_that_a_watch_at_the_clock_finds(case: tuple[Written, datetime, str]) -> None:
    exclude, start, place = case
    zone, instant = parse_zone(place), start
    while exclude.holds(instant, zone):
        instant += timedelta(minutes=1)
    assert opens_at(exclude.parsed, start, zone) == instant
