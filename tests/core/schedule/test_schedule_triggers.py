"""What comes next, and what fell due, for each kind of trigger."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova_auto.core.errors import ConfigError
from kova_auto.core.schedule.cron import Cron, parse_cron
from kova_auto.core.schedule.triggers import (
    AtTrigger,
    Backlog,
    CronTrigger,
    EveryTrigger,
    Trigger,
    latest_fire,
    next_fire,
    occurrences,
    parse_at,
    parse_bound,
)
from kova_auto.core.schedule.zone import parse_zone
from tests.core.schedule.schedule_oracle import utc

BERLIN = parse_zone("Europe/Berlin")
UTC_ZONE = parse_zone("UTC")
MORNINGS = CronTrigger((parse_cron("0 9 * * *"),), UTC_ZONE)
MINUTELY = CronTrigger((parse_cron("* * * * *"),), BERLIN)
TRIGGERS = {
    "mornings": MORNINGS,
    "minutely": MINUTELY,
    "secondly": CronTrigger((parse_cron("* * * * * *"),), BERLIN),
    "weekly and monthly": CronTrigger((parse_cron("30 2 * * 0"), parse_cron("30 2 L * *")), BERLIN),
    "every": EveryTrigger(timedelta(minutes=7, seconds=0.5), utc("2026-05-01T00:00:00.25")),
    "at": AtTrigger(tuple(utc("2026-01-01") + timedelta(days=days**2) for days in range(30))),
}


def every(seconds: float, anchor: str = "2026-01-01T00:00") -> EveryTrigger:
    return EveryTrigger(timedelta(seconds=seconds), utc(anchor))


def at(*instants: str) -> AtTrigger:
    return AtTrigger(tuple(utc(instant) for instant in instants))


def first(trigger: Trigger, after: str, count: int) -> list[datetime]:
    return list(occurrences(trigger, utc(after), utc("2500-01-01"), count))


def test_several_expressions_fire_as_one_and_a_shared_instant_once() -> None:
    trigger = CronTrigger(tuple(map(parse_cron, ("0 9 * * *", "0 9,10 * * *", "0 9 * * *"))), UTC_ZONE)
    assert first(trigger, "2026-01-01T08:00", 3) == [
        utc("2026-01-01T09:00"),
        utc("2026-01-01T10:00"),
        utc("2026-01-02T09:00"),
    ]


def test_expressions_that_are_over_leave_the_others_firing() -> None:
    trigger = CronTrigger((parse_cron("0 0 0 1 1 * 2025"), parse_cron("0 9 * * *")), UTC_ZONE)
    assert next_fire(trigger, utc("2026-01-01T00:00")) == utc("2026-01-01T09:00")
    assert next_fire(CronTrigger(trigger.crons[:1], UTC_ZONE), utc("2026-01-01T00:00")) is None


def test_an_interval_keeps_to_its_grid_in_elapsed_time() -> None:
    # Berlin's clock jumps at 01:00 UTC; a day of elapsed time does not.
    trigger = every(86400, "2026-03-01T02:30")
    assert first(trigger, "2026-03-28T12:00", 2) == [utc("2026-03-29T02:30"), utc("2026-03-30T02:30")]


def test_the_grid_reaches_back_before_its_anchor() -> None:
    assert first(every(5400, "2026-01-01T00:00"), "2025-12-31T20:59", 2) == [
        utc("2025-12-31T21:00"),
        utc("2025-12-31T22:30"),
    ]


def test_an_anchor_in_another_offset_is_the_same_anchor() -> None:
    local = datetime.fromisoformat("2026-03-29T01:30:00").replace(tzinfo=BERLIN)
    trigger = EveryTrigger(timedelta(hours=1), local)
    assert next_fire(trigger, local + timedelta(minutes=5)) == utc("2026-03-29T01:30")


@given(
    st.timedeltas(timedelta(seconds=5), timedelta(days=400)),
    st.datetimes(datetime.fromisoformat("1950-01-01"), datetime.fromisoformat("2150-01-01")),
    st.datetimes(datetime.fromisoformat("1950-01-01"), datetime.fromisoformat("2150-01-01")),
)
def test_the_next_point_of_a_grid_is_on_it_and_less_than_one_step_away(
    step: timedelta, anchor: datetime, after: datetime
) -> None:
    start, moment = utc(anchor.isoformat()), utc(after.isoformat())
    found = next_fire(EveryTrigger(step, start), moment)
    assert found is not None
    assert (timedelta(0) < found - moment <= step, (found - start) % step) == (True, timedelta(0))


def test_a_grid_ends_with_the_calendar() -> None:
    assert next_fire(every(86400 * 365), utc("9999-12-31T00:00")) is None


def test_an_interval_under_five_seconds_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        every(4.5)
    assert (caught.value.key, caught.value.message) == ("every", "wanted at least 5s, found 4.5s")


def test_an_anchor_without_an_offset_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        EveryTrigger(timedelta(hours=1), datetime.fromisoformat("2026-01-01T00:00"))
    assert (caught.value.key, caught.value.hint) == ("anchor", "write 2026-01-01T00:00:00Z for UTC")


def test_listed_instants_fire_in_order_and_once() -> None:
    trigger = at("2026-05-01T00:00", "2026-01-01T00:00", "2026-05-01T00:00")
    assert first(trigger, "2025-12-31T23:59:59", 5) == [utc("2026-01-01T00:00"), utc("2026-05-01T00:00")]


@pytest.mark.parametrize(
    ("written", "instant"),
    [
        ("2026-12-24T09:00", "2026-12-24T08:00"),
        (" 2026-12-24 09:00:30 ", "2026-12-24T08:00:30"),
        ("2026-12-24T09:00Z", "2026-12-24T09:00"),
        ("2026-12-24T09:00-05:00", "2026-12-24T14:00"),
        ("2026-03-29T02:30", "2026-03-29T01:00"),
        ("2026-10-25T02:30", "2026-10-25T00:30"),
    ],
)
def test_a_time_without_an_offset_is_local(written: str, instant: str) -> None:
    assert parse_at(written, BERLIN) == utc(instant)


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("2026-12-24", "write 2026-12-24T09:00"),
        ("tomorrow", "for example 2026-12-24T09:00, or 2026-12-24T09:00+01:00 with its offset"),
        ("2026-02-30T09:00", "for example 2026-12-24T09:00, or 2026-12-24T09:00+01:00 with its offset"),
        ("0001-01-01T00:00", "for example 2026-12-24T09:00, or 2026-12-24T09:00+01:00 with its offset"),
        ("9999-06-01T00:00", "for example 2026-12-24T09:00, or 2026-12-24T09:00+01:00 with its offset"),
        ("9999-12-31T23:59-05:00", "for example 2026-12-24T09:00, or 2026-12-24T09:00+01:00 with its offset"),
    ],
)
def test_what_is_no_date_with_a_time_is_refused(written: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_at(written, BERLIN)
    message = f"wanted a date and a time, found {written!r}"
    assert (caught.value.key, caught.value.message, caught.value.hint) == ("at", message, hint)


@pytest.mark.parametrize(
    ("written", "instant"),
    [
        ("2026-01-01", "2025-12-31T23:00"),
        ("2026-01-01T09:00", "2026-01-01T08:00"),
        (" 2026-01-01T09:00Z ", "2026-01-01T09:00"),
        ("2026-03-29T02:30", "2026-03-29T01:00"),
    ],
)
def test_a_bound_may_be_a_date_alone(written: str, instant: str) -> None:
    assert parse_bound(written, BERLIN) == utc(instant)


def test_a_date_whose_midnight_the_clock_skips_begins_where_the_gap_ends() -> None:
    assert parse_bound("2026-03-08", parse_zone("America/Havana")) == utc("2026-03-08T05:00")


@pytest.mark.parametrize(
    ("written", "message", "hint"),
    [
        *(
            (
                text,
                f"wanted a date, or a date and a time, found {text!r}",
                "for example 2026-01-01, or 2026-01-01T09:00",
            )
            for text in ("next year", "2026-02-30", "9999-12-31", "0001-01-01", "")
        ),
        ("1969-07-20", "wanted a year from 1970 on, found '1969-07-20'", ""),
    ],
)
def test_what_is_no_bound_is_refused(written: str, message: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_bound(written, BERLIN)
    assert (caught.value.message, caught.value.hint) == (message, hint)


@pytest.mark.parametrize("trigger", TRIGGERS.values(), ids=TRIGGERS)
def test_a_stretch_excludes_its_start_and_includes_its_end(trigger: Trigger) -> None:
    start, end = list(occurrences(trigger, utc("2026-02-01"), utc("2026-12-31"), 2))
    assert list(occurrences(trigger, start, end, 9)) == [end]
    assert latest_fire(trigger, start, end) == Backlog(end, 1)
    assert latest_fire(trigger, start, end - timedelta.resolution) == Backlog(None, 0)


@pytest.mark.parametrize("trigger", TRIGGERS.values(), ids=TRIGGERS)
@pytest.mark.parametrize("until", ["2026-03-29T01:00", "2026-03-29T00:59:59.999999", "2026-10-25T01:30", "2026-10-26"])
def test_a_jump_over_a_backlog_lands_where_a_walk_does(trigger: Trigger, until: str) -> None:
    end = utc(until)
    near = end - (timedelta(minutes=90) if trigger is TRIGGERS["secondly"] else timedelta(days=1))
    walked = [*occurrences(trigger, near, end, 6000)] or [*occurrences(trigger, end - timedelta(days=60), end, 6000)]
    assert latest_fire(trigger, utc("2026-01-01"), end, cap=1) == Backlog(walked[-1], 1)


def test_a_jump_finds_the_end_of_a_burst_long_past() -> None:
    trigger = CronTrigger((parse_cron("* 0-5 1 1 *"),), UTC_ZONE)
    found = latest_fire(trigger, utc("2025-12-31"), utc("2026-12-01"), cap=1)
    assert found == Backlog(utc("2026-01-01T05:59"), 1)


def test_a_backlog_is_counted_only_to_the_cap() -> None:
    assert latest_fire(MORNINGS, utc("2026-01-01"), utc("2026-01-11")) == Backlog(utc("2026-01-10T09:00"), 10)
    assert latest_fire(MORNINGS, utc("2026-01-01"), utc("2026-01-11"), cap=10) == Backlog(utc("2026-01-10T09:00"), 10)
    assert latest_fire(MORNINGS, utc("2026-01-01"), utc("2026-01-11"), cap=9) == Backlog(utc("2026-01-10T09:00"), 9)


def test_a_century_of_minutes_is_jumped_over_in_few_steps() -> None:
    asked = []

    class AskedCron(Cron):
        def next_after(self, instant: datetime, zone: ZoneInfo) -> datetime | None:
            asked.append(instant)
            return super().next_after(instant, zone)

    cron = parse_cron("* * * * *")
    trigger = CronTrigger((AskedCron(cron.dates, cron.times, cron.is_fixed, cron.text),), BERLIN)
    found = latest_fire(trigger, utc("1970-01-01"), utc("2200-01-01T00:00:30"), cap=10)
    assert (found, len(asked) < 100) == (Backlog(utc("2200-01-01"), 10), True)
