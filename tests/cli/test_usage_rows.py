"""Sums as a person reads them, and how far back they reach."""

from __future__ import annotations

from datetime import date, datetime

import pytest

from kova_auto.cli.usage import since_of
from kova_auto.cli.usage_rows import usage_lines
from kova_auto.core.errors import ConfigError
from kova_auto.core.ids import RunId
from kova_auto.core.usage import By, UsageReport, Used
from tests.support import at

BIG = {"calls": 2, "input_tokens": 12_000, "cache_read_tokens": 8_000, "output_tokens": 900}


def test_sums_are_a_table_with_their_total() -> None:
    days = [
        Used.model_validate({"day": date(2026, 12, day), "model": "test/small", "cost_usd": 0.25, **BIG})
        for day in (1, 2)
    ]
    report = UsageReport(rows=tuple(days), total=Used(calls=4, cost_usd=0.5), unpriced_models=())

    assert "\n".join(usage_lines(report, {By.DAY, By.MODEL})).splitlines() == [
        "DAY         MODEL       CALLS  FAILED  INPUT   CACHED  WRITTEN  OUTPUT  REASONING  COST",
        "2026-12-01  test/small  2      0       12,000  8,000   0        900     0          0.2500 USD",
        "2026-12-02  test/small  2      0       12,000  8,000   0        900     0          0.2500 USD",
        "total                   4      0       0       0       0        0       0          0.5000 USD",
    ]


def test_a_sum_that_is_not_the_whole_says_at_least_and_whose_price_is_missing() -> None:
    known = Used(model="test/small", calls=1, cost_usd=0.25)
    unknown = Used(model="house/a", calls=2, cost_usd=None, unpriced=2)
    total = Used(calls=3, cost_usd=0.25, unpriced=2)
    report = UsageReport(rows=(known, unknown), total=total, unpriced_models=("house/a", "house/b"))
    _, one, other, last, _, note = "\n".join(usage_lines(report, {By.MODEL})).splitlines()

    assert [line.split()[8:] for line in (one, other, last)] == [
        ["0.2500", "USD"],
        ["—"],
        ["at", "least", "0.2500", "USD"],
    ]
    assert note == "No price is known of house/a, house/b: what it cost is in no sum."


def test_runs_that_nobody_dispatched_have_a_word_that_no_subagent_is_called() -> None:
    own, theirs = Used(agent="", calls=1), Used(agent="fixer", calls=2)
    report = UsageReport(rows=(own, theirs), total=Used(calls=3), unpriced_models=())
    lines = "\n".join(usage_lines(report, {By.AGENT})).splitlines()

    assert [line.split()[:2] for line in lines] == [["AGENT", "CALLS"], ["(run)", "1"], ["fixer", "2"], ["total", "3"]]


def test_iterations_stand_with_their_run() -> None:
    used = Used(run_id=RunId("nightly@1"), iteration=3, calls=1)
    report = UsageReport(rows=(used,), total=used, unpriced_models=())

    assert next(usage_lines(report, {By.ITERATION})).split()[:2] == ["RUN", "ITERATION"]


@pytest.mark.parametrize(
    ("text", "begin"),
    [
        ("2026-11-30", "2026-11-29T23:00:00Z"),
        ("2026-11-30T12:00", "2026-11-30T11:00:00Z"),
        ("2026-11-30T12:00Z", "2026-11-30T12:00:00Z"),
        ("90m", "2026-12-01T04:30:00Z"),
        ("1d", "2026-11-29T23:00:00Z"),
        ("7d", "2026-11-23T23:00:00Z"),
    ],
)
def test_days_reach_back_to_the_beginning_of_the_first(text: str, begin: str) -> None:
    assert since_of(text, at("06:00:00"), "Europe/Berlin") == datetime.fromisoformat(begin)


@pytest.mark.parametrize("text", ["", "yesterday", "7", "0d"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="wanted "):
        since_of(text, at("06:00:00"), "UTC")
