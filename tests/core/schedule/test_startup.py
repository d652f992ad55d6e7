"""What runs when the service starts does not run at each start of a service that keeps crashing."""

from __future__ import annotations

from datetime import timedelta

import pytest

from kova_auto.core.schedule.startup import why_suppressed
from kova_auto.core.schedule.triggers import StartupTrigger, next_fire
from tests.core.schedule.schedule_oracle import utc

NOON = utc("2026-01-01T12:00")


def test_the_first_start_ever_counts() -> None:
    assert why_suppressed(NOON, None) == ""


@pytest.mark.parametrize(("seconds", "counts"), [(59.999999, False), (60, True), (86400, True), (0, False)])
def test_a_start_within_a_minute_of_the_last_does_not_count(seconds: float, counts: bool) -> None:
    assert (why_suppressed(NOON, NOON - timedelta(seconds=seconds)) == "") is counts


def test_the_reason_says_how_long_ago_the_last_start_was() -> None:
    assert why_suppressed(NOON, NOON - timedelta(seconds=12.7)) == "crash loop: the service had started 12s before"


@pytest.mark.parametrize(("seconds", "counts"), [(30, False), (3600, True)])
def test_a_clock_that_was_set_back_does_not_hide_a_crash_loop(seconds: float, counts: bool) -> None:
    assert (why_suppressed(NOON, NOON + timedelta(seconds=seconds)) == "") is counts


def test_no_clock_implies_a_start() -> None:
    assert next_fire(StartupTrigger(), NOON) is None
