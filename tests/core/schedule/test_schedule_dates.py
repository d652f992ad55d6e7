"""The search for a covered date leaves years out that cannot hold one: it finds what a plain walk finds."""

from __future__ import annotations

import random
from datetime import date, timedelta

import pytest

from kova_auto.core.errors import ConfigError
from kova_auto.core.schedule.cron import parse_cron
from kova_auto.core.schedule.dates import ALL_YEARS, Dates
from kova_auto.core.schedule.mask import members, span


def month_by_month(dates: Dates, day: date, last_year: int) -> date | None:
    for year in range(day.year, last_year + 1):
        for month in range(1, 13):
            if dates.years >> year & 1 and dates.months >> month & 1:
                found = [date(year, month, number) for number in members(dates.in_month(year, month))]
                if later := [one for one in found if one >= day]:
                    return later[0]
    return None


def rare(dice: random.Random) -> Dates:
    """Make dates up that few years hold, or none."""
    start, step = dice.randint(1890, 2150), dice.choice((1, 1, 3, 4, 7, 28, 100))
    return Dates(
        years=dice.choice((ALL_YEARS, span(start, start + 130, step), span(1, 9999, step))),
        months=dice.choice((1 << 2, 1 << 2 | 1 << 12, 1 << dice.randint(1, 12))),
        days=dice.choice((1 << 29, 1 << 31, 1 << 30 | 1 << 29, 1 << dice.randint(1, 31))),
        workdays=dice.choice((0, 0, 0, 1 << 29, 1 << 31)),
        weeks=1 << dice.randint(0, 34),
        last_weekdays=dice.choice((0, 0, 0, 1 << dice.randint(0, 6))),
        needs_both=dice.random() < 0.8,
    )


@pytest.mark.parametrize("seed", range(5))
def test_a_walk_month_by_month_finds_the_same(seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(40):
        dates = rare(dice)
        day = date(1890, 1, 1) + timedelta(days=dice.randrange(300 * 365))
        assert dates.on_or_after(day, day.year + 150) == month_by_month(dates, day, day.year + 150), (dates, day)


@pytest.mark.parametrize("seed", range(5))
def test_whether_there_is_any_such_date_is_what_a_walk_through_all_years_says(seed: int) -> None:
    dice = random.Random(seed)
    for dates in (rare(dice) for _ in range(4)):
        assert dates.exist(2600) == (month_by_month(dates, date(1, 1, 1), 2600) is not None), dates


@pytest.mark.parametrize("years", ["2100", "2101-2103", "1-9999/2", "9999", "2101,2102,2103,9999"])
def test_what_no_listed_year_holds_is_refused(years: str) -> None:
    with pytest.raises(ConfigError, match="never fire"):
        parse_cron(f"0 0 0 29 2 * {years}")


@pytest.mark.parametrize("years", ["2000", "2101-2104", "9996", "4-9999/4"])
def test_what_some_listed_year_holds_is_accepted(years: str) -> None:
    assert parse_cron(f"0 0 0 29 2 * {years}").warnings == ()


@pytest.mark.parametrize(("low", "high", "step"), [(0, 59, 7), (5, 5, 3), (1, 31, 31), (0, 28, 7), (3, 9999, 2)])
def test_a_stepped_span_has_the_members_of_a_range(low: int, high: int, step: int) -> None:
    assert list(members(span(low, high, step))) == list(range(low, high + 1, step))
