"""What holds for every expression in every zone, against a slow walk along the clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise, takewhile
from zoneinfo import ZoneInfo

from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from kova_auto.core.errors import ConfigError
from kova_auto.core.schedule.cron import Cron, parse_cron
from kova_auto.core.schedule.zone import parse_zone, resolve, to_wall
from tests.core.schedule.schedule_oracle import Spelled, utc, walk, watch_the_clock
from tests.core.schedule.spelled_strategies import expressions

MINUTE = timedelta(minutes=1)
CHANGES = [
    ("Europe/Berlin", "2026-03-29T01:00"),
    ("Europe/Berlin", "2026-10-25T01:00"),
    ("Europe/Dublin", "2045-10-29T01:00"),
    ("America/New_York", "2026-03-08T07:00"),
    ("America/New_York", "2026-11-01T06:00"),
    ("America/Havana", "2026-03-08T05:00"),
    ("America/Havana", "2026-11-01T05:00"),
    ("America/Santiago", "2026-04-05T03:00"),
    ("America/Santiago", "2026-09-06T04:00"),
    ("America/Nuuk", "2026-03-29T01:00"),
    ("America/St_Johns", "2006-10-29T02:31"),
    ("America/Caracas", "2016-05-01T07:00"),
    ("Australia/Lord_Howe", "2026-04-04T15:00"),
    ("Australia/Lord_Howe", "2026-10-03T15:30"),
    ("Antarctica/Troll", "2026-03-29T01:00"),
    ("Antarctica/Troll", "2026-10-25T01:00"),
    ("Africa/Casablanca", "2025-02-23T02:00"),
    ("Asia/Pyongyang", "2015-08-14T15:00"),
    ("Asia/Pyongyang", "2018-05-04T15:00"),
    ("Pacific/Apia", "2011-12-30T10:00"),
    ("Pacific/Kwajalein", "1993-08-21T12:00"),
    ("UTC", "2026-01-01T00:00"),
]
changes = st.sampled_from([(parse_zone(zone), utc(instant)) for zone, instant in CHANGES])


def understood(spelled: Spelled) -> Cron:
    """Parse, and set aside what no calendar holds: the walk along the clock would be endless."""
    try:
        return parse_cron(spelled.text)
    except ConfigError as exc:
        assume("never fire" not in exc.hint)
        raise


def test_the_oracle_is_fed_with_real_offset_changes() -> None:
    second = timedelta(seconds=1)
    still = [
        zone
        for zone, instant in CHANGES
        if utc(instant).astimezone(parse_zone(zone)).utcoffset()
        == (utc(instant) - second).astimezone(parse_zone(zone)).utcoffset()
    ]
    assert still == ["UTC"]


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(expressions(), changes, st.integers(-2000, 200))
def test_around_offset_changes_a_walk_along_the_minutes_finds_the_same(
    spelled: Spelled, change: tuple[ZoneInfo, datetime], offset: int
) -> None:
    zone, instant = change
    cron, start = understood(spelled), instant + offset * MINUTE
    expected = watch_the_clock(spelled, zone, start, 3000, MINUTE)
    assert list(islice(walk(cron, zone, start), len(expected))) == expected


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(expressions(with_seconds=True), changes, st.integers(-2000, 2000))
def test_a_walk_along_the_seconds_finds_the_same(
    spelled: Spelled, change: tuple[ZoneInfo, datetime], offset: int
) -> None:
    zone, instant = change
    cron, start = understood(spelled), instant + timedelta(seconds=offset)
    expected = watch_the_clock(spelled, zone, start, 600, timedelta(seconds=1))
    assert list(islice(walk(cron, zone, start), len(expected))) == expected


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(expressions(), st.dates(utc("1999-01-01").date(), utc("2101-01-01").date()))
def test_a_walk_along_the_calendar_finds_the_same_dates(spelled: Spelled, first: object) -> None:
    cron = understood(spelled)
    day = utc(str(first)).date()
    days = [day + timedelta(days=count) for count in range(1200)]
    expected = [candidate for candidate in days if spelled.covers_date(candidate)][:40]
    found = []
    for _ in expected:
        day = cron.dates.on_or_after(day, 2200) or day
        found.append(day)
        day += timedelta(days=1)
    assert found == expected


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(
    expressions(with_seconds=True) | expressions(),
    changes,
    st.timedeltas(timedelta(days=-3), timedelta(days=3)),
)
def test_firings_ascend_strictly_and_the_last_moment_before_one_finds_it_again(
    spelled: Spelled, change: tuple[ZoneInfo, datetime], offset: timedelta
) -> None:
    zone, instant = change
    cron, start = understood(spelled), instant + offset
    found = list(islice(walk(cron, zone, start), 12))
    moments = [start, *found]
    assert all(earlier < later for earlier, later in pairwise(moments))
    assert [cron.next_after(moment - timedelta.resolution, zone) for moment in found] == found
    assert all(moment.tzinfo is UTC for moment in found)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(expressions(), changes, st.lists(st.integers(-3000, 3000), min_size=2, max_size=6))
def test_a_later_start_never_finds_an_earlier_firing(
    spelled: Spelled, change: tuple[ZoneInfo, datetime], offsets: list[int]
) -> None:
    zone, instant = change
    cron = understood(spelled)
    found = [cron.next_after(instant + offset * MINUTE, zone) for offset in sorted(offsets)]
    assert found == sorted(found, key=lambda moment: moment or datetime.max.replace(tzinfo=UTC))


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 23), st.integers(0, 59), changes)
@example(2, 30, (parse_zone("Europe/Berlin"), utc("2026-03-29T01:00")))
@example(2, 30, (parse_zone("Europe/Berlin"), utc("2026-10-25T01:00")))
def test_a_daily_time_fires_once_for_every_date_that_the_zone_shows(
    hour: int, minute: int, change: tuple[ZoneInfo, datetime]
) -> None:
    zone, instant = change
    midnight = to_wall(instant, zone).replace(hour=0, minute=0, second=0, fold=0)
    start, end = (resolve(midnight + timedelta(days=days), zone) for days in (-5, 5))
    hours = (end - start) // timedelta(hours=1)
    dates = {to_wall(start + timedelta(hours=count), zone).date() for count in range(hours)}
    firings = walk(parse_cron(f"{minute} {hour} * * *"), zone, start - timedelta.resolution)
    assert len(list(takewhile(lambda found: found < end, firings))) == len(dates)
