"""What a job may spend on a day, whichever day that is where it runs."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from kova_auto.core.day import day_began, day_is_spent, say_spent
from tests.support import a_job, a_request


@pytest.mark.parametrize(
    ("zone", "now", "began"),
    [
        ("UTC", "2026-12-01T06:00", "2026-12-01T00:00"),
        ("UTC", "2026-12-01T00:00", "2026-12-01T00:00"),
        ("Europe/Berlin", "2026-12-01T06:00", "2026-11-30T23:00"),
        ("Europe/Berlin", "2026-11-30T23:00", "2026-11-30T23:00"),
        ("Europe/Berlin", "2026-11-30T22:59", "2026-11-29T23:00"),
        ("America/New_York", "2026-12-01T03:00", "2026-11-30T05:00"),
        pytest.param("Europe/Berlin", "2026-10-25T12:00", "2026-10-24T22:00", id="the clock was set back today"),
        pytest.param("America/Santiago", "2026-09-06T12:00", "2026-09-06T04:00", id="a day without a midnight"),
    ],
)
def test_a_day_begins_at_the_zone_s_midnight(zone: str, now: str, began: str) -> None:
    instant = datetime.fromisoformat(now).replace(tzinfo=UTC)

    assert day_began(instant, ZoneInfo(zone)) == datetime.fromisoformat(began).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("spent", "scripted", "nothing_left"),
    [(0.0, False, False), (1.99, False, False), (2.0, False, True), (2.5, False, True), (2.5, True, False)],
)
def test_a_day_is_spent_once_its_limit_is_reached(spent: float, scripted: bool, nothing_left: bool) -> None:
    job = a_job(limits={"cost_usd_per_day": 2.0})

    assert day_is_spent(a_request(job=job, day_spent_usd=spent, scripted=scripted)) is nothing_left


def test_what_was_spent_is_said_beside_what_may_be() -> None:
    request = a_request(job=a_job(limits={"cost_usd_per_day": 2.0}), day_spent_usd=2.12345)

    assert say_spent(request) == "2.1235 USD were spent today (limits.cost_usd_per_day = 2)"
