"""Bounds, exclusions and jitter: the rows of the reference's table 3.3, and what holds of any timetable."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kova_auto.core.schedule.search import TICK
from kova_auto.core.schedule.timetable import Stretch, Timetable, fates, stretches
from kova_auto.core.schedule.triggers import AtTrigger, EveryTrigger
from tests.core.schedule.schedule_oracle import utc
from tests.core.schedule.timetables import Known, cron, excluding, known, timetable

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
JITTERS = st.sampled_from((timedelta(0), timedelta(milliseconds=1), timedelta(seconds=40), 20 * MINUTE, 3 * DAY))
A_YEAR = (utc("2026-01-01"), utc("2027-01-01"))


def nominal(table: Timetable, after: str, count: int) -> list[str]:
    """Return what is implied, as the zone's clock shows it."""
    found = [instant for instant, _ in fates(table, utc(after), utc("2200-01-01"), limit=count)]
    return [f"{instant.astimezone(table.zone):%Y-%m-%dT%H:%M%z}" for instant in found]


def test_the_start_is_included_and_the_end_is_not() -> None:
    table = timetable("0 9 * * *", start="2026-01-01T08:00", end="2026-01-03T08:00")
    assert nominal(table, "2025-06-01", 9) == ["2026-01-01T09:00+0100", "2026-01-02T09:00+0100"]


def test_a_start_between_two_instants_implies_the_later_one() -> None:
    table = timetable("0 9 * * *", start="2026-01-01T08:00:00.000001")
    assert nominal(table, "2025-06-01", 1) == ["2026-01-02T09:00+0100"]


def test_the_bounds_move_no_grid() -> None:
    table = timetable(EveryTrigger(7 * HOUR, utc("2026-01-01")), start="2026-01-02T00:00", end="2026-01-02T12:00")
    assert table.next_nominal(utc("2026-01-01")) == utc("2026-01-02T04:00")
    assert table.next_nominal(utc("2026-01-02T04:00")) == utc("2026-01-02T11:00")
    assert table.next_nominal(utc("2026-01-02T11:00")) is None


def test_an_instant_between_two_nominal_ones_is_not_implied() -> None:
    table = timetable("0 9 * * *", end="2026-01-03T08:00")
    assert [table.implies(utc(f"2026-01-0{day}")) for day in ("1T08:00", "1T08:01", "3T08:00")] == [True, False, False]


@pytest.mark.parametrize(
    ("instant", "why"),
    [
        ("2026-12-25T08:00", "excluded: date 2026-12-25"),
        ("2026-12-26T08:00", "excluded: calendar holidays"),
        ("2026-12-27T08:00", "excluded: weekday SUN"),
        ("2026-12-28T20:59:59.999999", ""),
        ("2026-12-28T21:00", "excluded: hours 22:00-06:00"),
        ("2026-12-29T04:59:59", "excluded: hours 22:00-06:00"),
        ("2026-12-29T05:00", ""),
        ("2026-12-29T11:00", "excluded: hours 12:00-13:00"),
        ("2026-12-29T12:00", ""),
        # Berlin is an hour ahead: its 26th begins an hour before that of UTC.
        ("2026-12-25T23:30", "excluded: calendar holidays"),
    ],
)
def test_an_exclusion_is_told_by_the_local_clock(instant: str, why: str) -> None:
    exclude = excluding("SUN", dates=("2026-12-25",), hours=("22:00-06:00", "12:00-13:00"), holidays=("2026-12-26",))
    assert timetable("* * * * *", exclude=exclude).why_excluded(utc(instant)) == why


def test_a_run_that_a_gap_shifts_is_judged_at_the_shifted_time() -> None:
    shifted = utc("2026-03-29T01:00")  # 03:00, as there is no 02:30
    table = timetable("30 2 * * *", exclude=excluding(hours=("02:00-03:00",)))
    assert (table.next_open(utc("2026-03-27")), table.why_excluded(shifted)) == (shifted, "")
    table = timetable("30 2 * * *", exclude=excluding(hours=("03:00-04:00",)))
    assert table.why_excluded(shifted) == "excluded: hours 03:00-04:00"


def test_a_midnight_that_the_clock_skips_belongs_to_its_own_date() -> None:
    table = timetable("0 0 * * *", zone="America/Havana", exclude=excluding(dates=("2026-03-08",)))
    assert table.why_excluded(utc("2026-03-08T05:00")) == "excluded: date 2026-03-08"


def test_hours_that_the_clock_shows_twice_are_excluded_twice_and_no_more() -> None:
    table = timetable("*/5 * * * *", exclude=excluding(hours=("02:45-04:00",)))
    # From 02:45 in summer time on nothing is open until it is 02:00 in winter time: a jump to 04:00 would go too far.
    assert table.next_open(utc("2026-10-25T00:40")) == utc("2026-10-25T01:00")
    assert table.next_open(utc("2026-10-25T01:40")) == utc("2026-10-25T03:00")


def test_hours_that_the_clock_skips_are_left_at_once() -> None:
    table = timetable("*/5 * * * *", exclude=excluding(hours=("01:30-02:30",)))
    assert table.next_open(utc("2026-03-29T00:25")) == utc("2026-03-29T01:00")  # 03:00: there is no 02:30


def test_what_is_excluded_is_implied_all_the_same() -> None:
    plain, table = timetable("0 9 * * *"), timetable("0 9 * * *", exclude=excluding("MON-SAT"))
    assert nominal(table, "2026-01-01", 30) == nominal(plain, "2026-01-01", 30)


def test_a_schedule_that_is_always_excluded_is_given_up() -> None:
    assert timetable("0 9 * * SAT", exclude=excluding("SAT")).next_open(utc("2026-01-01")) is None


def test_years_of_excluded_instants_are_jumped_over() -> None:
    days = tuple(f"{utc('2026-01-01') + DAY * day:%Y-%m-%d}" for day in range(2, 900))
    table = timetable("* * * * * *", exclude=excluding(dates=days))
    assert table.next_open(utc("2026-01-03")) == utc("2028-06-18T22:00")


def test_the_newest_open_instants_are_found_behind_excluded_ones() -> None:
    table = timetable("*/10 * * * *", exclude=excluding("SAT-MON", hours=("00:00-23:30",)))
    assert table.newest_open(utc("2020-01-01"), utc("2026-03-02T12:00"), 4) == tuple(
        utc(f"2026-02-{moment}") for moment in ("26T22:50", "27T22:30", "27T22:40", "27T22:50")
    )


def test_instants_that_share_a_fate_are_one_stretch() -> None:
    table = timetable("0 */6 * * *", zone="UTC", exclude=excluding("SAT", dates=("2026-01-04",)))
    assert stretches(table, utc("2026-01-02T06:00"), utc("2026-01-05T00:00")) == (
        Stretch(utc("2026-01-02T12:00"), utc("2026-01-02T18:00"), 2),
        Stretch(utc("2026-01-03T00:00"), utc("2026-01-03T18:00"), 4, "excluded: weekday SAT"),
        Stretch(utc("2026-01-04T00:00"), utc("2026-01-04T18:00"), 4, "excluded: date 2026-01-04"),
        Stretch(utc("2026-01-05T00:00"), utc("2026-01-05T00:00"), 1),
    )


def test_more_stretches_than_anybody_reads_end_in_one_for_the_rest() -> None:
    table = timetable("0 12 * * *", zone="UTC", exclude=excluding("SAT", "SUN"))
    assert stretches(table, *A_YEAR, most=2) == (
        Stretch(utc("2026-01-01T12:00"), utc("2026-01-02T12:00"), 2),
        Stretch(utc("2026-01-03T12:00"), utc("2026-12-31T12:00"), 363, is_rest=True),
    )
    # Saturday and Sunday have their own reasons: 1 + 3 * 52 stretches.
    assert len(stretches(table, *A_YEAR, most=1000)) == 157


def test_a_long_backlog_is_counted_to_the_cap_and_not_walked() -> None:
    table = timetable("* * * * *", zone="UTC")
    newest = utc("2027-01-01")
    assert stretches(table, *A_YEAR) == (Stretch(utc("2026-01-01T00:01"), newest, 1000, is_rest=True),)
    busy = timetable("* * * * *", zone="UTC", exclude=excluding(hours=("00:10-24:00",)))
    assert stretches(busy, *A_YEAR, cap=20) == (
        Stretch(utc("2026-01-01T00:01"), utc("2026-01-01T00:09"), 9),
        Stretch(utc("2026-01-01T00:10"), newest, 11, is_rest=True),
    )


def test_a_stretch_in_which_nothing_falls_due_is_none() -> None:
    assert stretches(timetable("0 9 * * *"), utc("2026-01-01T08:00"), utc("2026-01-02T07:59")) == ()


def test_a_delay_depends_on_nothing_but_the_job_and_the_instant() -> None:
    table = timetable("0 9 * * *", zone="UTC", jitter=HOUR)
    instant = utc("2026-01-01T09:00")
    share = int.from_bytes(hashlib.sha256(b"triage@2026-01-01T09:00:00+00:00").digest()[:8]) / 2**64
    assert table.due_at(instant) - instant == timedelta(milliseconds=int(share * 3_600_000))
    code = (
        "from tests.core.schedule.timetables import *\n"
        "print(timetable('0 9 * * *', zone='UTC', jitter=timedelta(hours=1)).due_at(utc('2026-01-01T09:00')))"
    )
    again = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert again.stdout.strip() == str(table.due_at(instant))


def test_jobs_of_one_schedule_are_spread_over_the_whole_delay() -> None:
    instant = utc("2026-01-01T09:00")
    delays = [timetable("0 9 * * *", job=f"job-{n}", jitter=HOUR).due_at(instant) - instant for n in range(1000)]
    tenths = [int(delay / (6 * MINUTE)) for delay in delays]
    assert [70 < tenths.count(tenth) < 130 for tenth in range(10)] == [True] * 10
    assert len(set(delays)) > 990


def test_a_job_is_delayed_differently_each_day() -> None:
    table = timetable("0 9 * * *", jitter=HOUR)
    delays = {table.due_at(instant) - instant for instant, _ in fates(table, *A_YEAR)}
    assert len(delays) > 360


def test_a_delay_longer_than_the_period_drops_nothing() -> None:
    # Elsewhere 200 fires of a minutely job with 120 s of jitter took 306 minutes.
    table = timetable("* * * * *", jitter=2 * MINUTE)
    due = [(instant, table.due_at(instant)) for instant, _ in fates(table, *A_YEAR, limit=200)]
    assert due[-1][1] - due[0][1] < 200 * MINUTE
    assert all(first <= at < second for (first, at), (second, _) in pairwise(due))


def test_a_period_of_a_second_leaves_no_room_for_a_delay() -> None:
    assert timetable("* * * * * *", jitter=MINUTE).due_at(utc("2026-01-01")) == utc("2026-01-01")


def test_the_last_instant_is_delayed_like_any_other() -> None:
    table = timetable(AtTrigger((utc("2026-01-01"),)), jitter=DAY)
    assert utc("2026-01-01") < table.due_at(utc("2026-01-01")) < utc("2026-01-02")


def test_daily_instants_with_a_delay_survive_the_change_of_clocks() -> None:
    # apscheduler#606: midnight on the day after the change was lost.
    table = timetable("0 0 * * *", zone="America/Los_Angeles", jitter=10 * MINUTE)
    assert nominal(table, "2022-03-12T09:00", 3) == [
        "2022-03-13T00:00-0800",
        "2022-03-14T00:00-0700",
        "2022-03-15T00:00-0700",
    ]


@pytest.mark.parametrize(
    ("expression", "zone", "after", "shown"),
    [
        ("0 9 * * *", "America/Toronto", "2026-03-07T15:00", ["2026-03-08T09:00-0400", "2026-03-09T09:00-0400"]),
        ("0 9 * * *", "America/Toronto", "2026-10-31T14:00", ["2026-11-01T09:00-0500", "2026-11-02T09:00-0500"]),
    ],
)
def test_a_wall_time_stays_over_a_change_of_clocks(expression: str, zone: str, after: str, shown: list[str]) -> None:
    assert nominal(timetable(expression, zone=zone), after, 2) == shown


def test_an_interval_takes_its_real_time_over_a_change_of_clocks() -> None:
    table = timetable(EveryTrigger(2 * HOUR, utc("2026-03-08T05:00")), zone="America/Toronto")
    assert nominal(table, "2026-03-08T04:00", 3) == [
        "2026-03-08T00:00-0500",
        "2026-03-08T03:00-0400",
        "2026-03-08T05:00-0400",
    ]


def test_an_interval_keeps_its_phase_however_late_it_is_asked() -> None:
    table = timetable(EveryTrigger(45 * MINUTE, utc("2026-01-01T00:10")), zone="UTC")
    asked = [utc("2026-01-01") + minutes * MINUTE for minutes in range(0, 3 * 1440, 37)]
    found = [table.next_nominal(moment) for moment in asked]
    assert all(instant and (instant - utc("2026-01-01T00:10")) % (45 * MINUTE) == timedelta(0) for instant in found)


def test_only_the_newest_instant_may_wait() -> None:
    table = timetable(cron("0 * * * *", zone="UTC"), jitter=50 * MINUTE)
    seven = utc("2026-01-01T07:00")
    due = table.due_at(seven)
    assert seven + MINUTE < due
    assert table.due_until(utc("2026-01-01"), due - TICK) == seven - TICK
    assert table.due_until(utc("2026-01-01"), due) == due
    assert table.due_until(seven, due - TICK) == due - TICK


def test_the_next_wake_up_is_for_the_next_open_instant_with_its_delay() -> None:
    table = timetable("0 9 * * *", exclude=excluding("SAT", "SUN"), jitter=HOUR)
    monday = utc("2026-01-05T08:00")
    assert table.next_due(utc("2026-01-02T08:00")) == table.due_at(monday) != monday


@settings(deadline=None)
@given(known(), st.integers(1, 30))
def test_an_open_instant_is_one_that_a_look_at_each_finds_open(case: Known, limit: int) -> None:
    table, after, until = case.timetable, case.after, case.until
    assert tuple(instant for instant, _ in fates(table, after, until, limit=9999)) == case.implied
    assert tuple(instant for instant, why in fates(table, after, until, limit=9999) if not why) == case.open
    walked: list[datetime] = []
    moment = after
    while (found := table.next_open(moment, until)) is not None:
        walked.append(found)
        moment = found
    assert tuple(walked) == case.open
    assert table.newest_open(after, until, limit) == case.open[-limit:]
    assert table.next_open(after) == case.open[0] if case.open else True


@settings(deadline=None)
@given(known(jitter=JITTERS))
def test_due_instants_keep_their_order_and_never_reach_the_next(case: Known) -> None:
    due = [(instant, case.timetable.due_at(instant)) for instant in case.implied[:200]]
    assert all(instant <= at and at - instant <= case.timetable.jitter for instant, at in due)
    assert all(at < following for (_, at), (following, _) in pairwise(due))
    plain = Timetable("triage", case.timetable.trigger, case.timetable.zone)
    assert all(table_due >= plain.due_at(instant) for instant, table_due in due)


@settings(deadline=None)
@given(known(jitter=JITTERS), st.integers(0, 100))
def test_what_is_due_is_what_each_instant_says_it_is(case: Known, share: int) -> None:
    now = case.after + (case.until - case.after) * share / 100
    bound = case.timetable.due_until(case.after, now)
    by_each = [instant for instant in case.implied if case.timetable.due_at(instant) <= now]
    assert [instant for instant in case.implied if instant <= bound] == by_each


@settings(deadline=None)
@given(known(), st.integers(0, 100))
def test_stretches_cover_every_instant_once_wherever_they_are_split(case: Known, share: int) -> None:
    table, middle = case.timetable, case.after + (case.until - case.after) * share / 100
    whole = stretches(table, case.after, case.until, most=9999, cap=9999)
    parts = (
        *stretches(table, case.after, middle, most=9999, cap=9999),
        *stretches(table, middle, case.until, most=9999, cap=9999),
    )
    for found in (whole, parts):
        spread = [
            (instant, part.why)
            for part in found
            for instant, _ in fates(table, part.first - TICK, part.last, limit=9999)
        ]
        assert spread == list(fates(table, case.after, case.until, limit=9999))
        assert sum(part.count for part in found) == len(case.implied)
    assert all(first.why != second.why for first, second in pairwise(whole))


@settings(deadline=None)
@given(known(), st.integers(1, 4), st.integers(1, 40))
def test_a_rest_reaches_to_the_newest_and_counts_no_more_than_there_are(case: Known, most: int, cap: int) -> None:
    found = stretches(case.timetable, case.after, case.until, most=most, cap=cap)
    total = sum(part.count for part in found)
    assert (found[-1].last if found else None) == (case.implied[-1] if case.implied else None)
    assert (len(found) <= most, total) == (True, min(cap, len(case.implied)))
    assert all(first.last < second.first for first, second in pairwise(found))
