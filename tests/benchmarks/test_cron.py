"""What it takes to find the next firing, and how that compares with cronsim: run with `pytest -n0 -s -m bench`.

Processor time counts, and the best of some rounds, as a busy machine makes a round longer and never shorter.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from statistics import median
from time import process_time
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim, CronSimError

from kova_auto.core.errors import ConfigError
from kova_auto.core.schedule.cron import parse_cron
from kova_auto.core.schedule.zone import parse_zone
from tests.core.schedule.schedule_oracle import utc
from tests.core.schedule.test_cron_against_cronsim import expression
from tests.core.schedule.zone_changes import NAMES, changes

pytestmark = pytest.mark.bench

LONGEST_MS = 5.0
CASES = Path(__file__).parents[1] / "cases" / "cron.jsonl"
ROWS = [row for line in CASES.read_text(encoding="utf-8").splitlines() if (row := json.loads(line))["kind"] == "ok"]
# What is rare, far away, or never comes.
HARD = [
    ("0 0 29 2 +MON", "Europe/Berlin", "2044-03-01"),
    ("0 0 * 2 MON#5", "UTC", "2044-03-01"),
    ("0 0 0 29 2 +SUN 2150-2200", "UTC", "2000-06-01"),
    ("0 0 0 29 2 +MON 1-2026,2176-9998", "UTC", "2026-01-01"),
    ("0 0 0 1 1 * 9000", "UTC", "2026-01-01"),
    ("0 0 0 1 1 * 2175", "America/New_York", "2026-01-01"),
    ("59 59 23 31 12 +FRI 2100-2175", "Pacific/Apia", "2026-01-01"),
    ("*/30 2 * 3 7L", "Europe/Berlin", "2026-01-01"),
    ("* * 2 8-14 3 +SUN", "America/New_York", "2026-01-01"),
    ("*/10 0 2-8 9 +SUN", "America/Santiago", "2026-01-01"),
    ("0 12 30 12 *", "Pacific/Apia", "2011-12-29"),
]
IMPOSSIBLE = ["0 0 31 2 *", "0 0 31 2,4,6,9,11 *", "0 0 31 * +MON#1", "0 0 1-7 * +MON#5,TUE#4", "0 0 0 29 2 * 1-9999/2"]


def _best_s(work: Callable[[], object], rounds: int = 5, repetitions: int = 20) -> float:
    """Return what once takes, in seconds."""

    def one_round() -> float:
        began = process_time()
        for _ in range(repetitions):
            work()
        return (process_time() - began) / repetitions

    return min(one_round() for _ in range(rounds))


def _cronsim_s(text: str, local: datetime, rounds: int = 5, repetitions: int = 20) -> float:
    """Return the same of an expression that is parsed already: cronsim's is its own iterator."""
    taken = []
    for _ in range(rounds):
        parsed = [CronSim(text, local) for _ in range(repetitions)]
        began = process_time()
        for one in parsed:
            next(one)
        taken.append((process_time() - began) / repetitions)
    return min(taken)


def test_the_next_firing_takes_no_longer_than_cronsims() -> None:
    ours, theirs, whole_ours, whole_theirs = [], [], [], []
    for row in ROWS:
        text, zone, start = row["expr"], parse_zone(row["tz"]), datetime.fromisoformat(row["start"])
        local = start.astimezone(zone)
        try:
            theirs.append(_cronsim_s(text, local))
        except (CronSimError, StopIteration):
            continue
        cron = parse_cron(text)
        ours.append(_best_s(lambda cron=cron, start=start, zone=zone: cron.next_after(start, zone)))  # type: ignore[misc]
        whole_ours.append(
            _best_s(lambda text=text, start=start, zone=zone: parse_cron(text).next_after(start, zone))  # type: ignore[misc]
        )
        whole_theirs.append(_best_s(lambda text=text, local=local: next(CronSim(text, local))))  # type: ignore[misc]
    ratio, whole = median(ours) / median(theirs), median(whole_ours) / median(whole_theirs)
    print(f"\nnext, {len(ours)} expressions: {median(ours) * 1e6:.1f} us, {ratio:.2f} x cronsim; slowest ", end="")
    print(f"{max(ours) * 1e6:.0f} us against {max(theirs) * 1e6:.0f} us; parsed first: {whole:.2f} x cronsim")
    assert ratio <= 1


def _slowest_ms(asked: list[tuple[str, str, datetime]]) -> tuple[float, str]:
    """Ask once each; what seems slow is asked again, as the machine may have had other things to do."""
    slowest = 0.0, ""
    for text, name, start in asked:
        cron, zone = parse_cron(text), ZoneInfo(name)
        began = process_time()
        cron.next_after(start, zone)
        taken_ms = (process_time() - began) * 1e3
        if taken_ms > slowest[0]:
            again = _best_s(lambda cron=cron, start=start, zone=zone: cron.next_after(start, zone), 3, 1)  # type: ignore[misc]
            slowest = max(slowest, (min(taken_ms, again * 1e3), f"{text} {name} {start:%Y-%m-%d %H:%M:%S}"))
    return slowest


def test_no_search_takes_long_however_far_away_the_firing_is() -> None:
    taken_ms, which = _slowest_ms([(text, name, utc(start)) for text, name, start in HARD])
    print(f"\nhard to find: at most {taken_ms:.2f} ms ({which})")
    assert taken_ms < LONGEST_MS


def test_what_can_never_fire_is_refused_at_once() -> None:
    def refused(text: str) -> None:
        with pytest.raises(ConfigError):
            parse_cron(text)

    taken_ms = max(_best_s(lambda text=text: refused(text), 3, 5) for text in IMPOSSIBLE) * 1e3  # type: ignore[misc]
    print(f"\nimpossible: refused within {taken_ms:.2f} ms")
    assert taken_ms < LONGEST_MS


def test_no_search_near_a_change_of_clocks_takes_long() -> None:
    dice = random.Random(33)
    texts = [text for _ in range(500) if _is_sound(text := expression(dice))]
    known = [(name, change.at) for name in NAMES for change in changes(name, utc("2024-01-01"), utc("2031-01-01"))]
    asked = [
        (text, name, at + timedelta(seconds=dice.randint(-9000, 9000)))
        for text in texts
        for name, at in dice.sample(known, 200)
    ]
    taken_ms, which = _slowest_ms(asked)
    print(f"\n{len(asked)} searches near changes of {len(NAMES)} zones: at most {taken_ms:.2f} ms ({which})")
    assert taken_ms < LONGEST_MS


def _is_sound(text: str) -> bool:
    try:
        parse_cron(text)
    except ConfigError:
        return False
    return True
