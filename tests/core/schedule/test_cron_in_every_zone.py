"""Every time zone there is, at each change of its clocks: what fires is what a walk along the minutes finds."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import takewhile
from zoneinfo import ZoneInfo

import pytest

from kova_auto.core.schedule.cron import Cron, parse_cron
from tests.core.schedule.schedule_oracle import Spelled, fired, look_at_the_clock, utc, walk
from tests.core.schedule.zone_changes import NAMES, SAMPLE, Change, changes, in_the_way

MINUTE = timedelta(minutes=1)
BEFORE, AFTER = timedelta(hours=4), timedelta(hours=30)
TEN_YEARS = utc("2027-01-01"), utc("2037-01-01")
SEVEN_YEARS = utc("2024-01-01"), utc("2031-01-01")
STARTS = (timedelta(seconds=-1), timedelta(0), 20 * MINUTE, timedelta(minutes=59, seconds=59), 100 * MINUTE)

Answers = list[tuple[Spelled, list[datetime]]]
_ANSWERS: dict[tuple[Change, ...], Answers] = {}


def walked(zone: ZoneInfo, near: tuple[Change, ...], change: Change, count: int) -> Answers:
    """Return expressions, and what a walk along the minutes finds for them; once for all zones that change alike."""
    if near not in _ANSWERS:
        ticks = look_at_the_clock(zone, change.at - BEFORE, (BEFORE + AFTER) // MINUTE, MINUTE)
        dice = random.Random(f"{change.at} {change.before} {change.after}")
        _ANSWERS[near] = [(spelled, fired(spelled, ticks)) for spelled in in_the_way(change, dice, count)]
    return _ANSWERS[near]


def differing(names: Iterable[str], years: Iterable[int], count: int) -> list[tuple[str, str, str]]:
    """Compare with the walk at each change of the years, from before it and from within."""
    found = []
    for name in names:
        zone, known = ZoneInfo(name), changes(name, *TEN_YEARS)
        for change in (one for one in known if one.at.year in years):
            near = tuple(other for other in known if abs(other.at - change.at) < 2 * AFTER)
            for spelled, expected in walked(zone, (change, *near), change, count):
                if not agrees(parse_cron(spelled.text), zone, change.at, expected):
                    found.append((spelled.text, name, change.at.isoformat()))
    return found


def agrees(cron: Cron, zone: ZoneInfo, at: datetime, expected: list[datetime]) -> bool:
    end = at + AFTER
    if list(takewhile(lambda moment: moment <= end, walk(cron, zone, at - BEFORE))) != expected:
        return False
    for start in (at + offset for offset in STARTS):
        index, following = bisect_right(expected, start), cron.next_after(start, zone)
        if index < len(expected) and following != expected[index]:
            return False
        if index == len(expected) and following is not None and following <= end:
            return False
    return True


def not_later(names: Iterable[str], count: int) -> list[tuple[str, str, str]]:
    """Ask about each change of seven years from a random instant near it; return where the answer is not later."""
    dice = random.Random(33)
    spelled = [one.text for one in in_the_way(Change(utc("2024-03-31T01:00"), timedelta(hours=1), AFTER), dice, count)]
    crons = [parse_cron(text) for text in spelled]
    found = []
    for name in names:
        zone = ZoneInfo(name)
        for change in changes(name, *SEVEN_YEARS):
            for cron in crons:
                start = change.at + timedelta(seconds=dice.randint(-9000, 9000))
                following = cron.next_after(start, zone)
                if following is None or following <= start:
                    found.append((cron.text, name, start.isoformat()))
    return found


def test_the_zones_of_the_sample_are_changed_by_all_manner_of_lengths() -> None:
    lengths = {change.after - change.before for name in SAMPLE for change in changes(name, *TEN_YEARS)}
    assert lengths == {MINUTE * minutes for minutes in (-120, -60, -30, 30, 60, 120)}


def test_a_walk_along_the_minutes_finds_the_same_at_the_changes_of_some_zones() -> None:
    assert differing(SAMPLE, (2027, 2033), 4) == []


def test_what_comes_next_is_later_than_now_in_some_zones() -> None:
    assert not_later(SAMPLE, 20) == []


@pytest.mark.slow
@pytest.mark.parametrize("year", range(2027, 2037))
def test_a_walk_along_the_minutes_finds_the_same_at_every_change_of_every_zone(year: int) -> None:
    assert differing(NAMES, (year,), 10) == []


@pytest.mark.slow
@pytest.mark.parametrize("part", range(5))
def test_what_comes_next_is_later_than_now_for_500_expressions_in_every_zone(part: int) -> None:
    assert not_later(NAMES[part::5], 500) == []
