"""When a delivery is tried again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova_auto.core.delivery.retry import SCHEDULE_S, jittered_s, next_attempt_at, parse_retry_after

NOW = datetime(2026, 12, 1, 7, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0),
        ("1", 1),
        ("120", 120),
        ("0120", 120),
        (" 5 ", 5),
        ("000000000000000000005", 5),
        ("86400", 86_400),
        ("100000000000000000000", 100_000_000_000),
        ("9" * 5000, 999_999_999_999),
        ("Tue, 01 Dec 2026 07:02:00 GMT", 120),
        ("Tue, 01 Dec 2026 06:00:00 GMT", 0),
        ("Tuesday, 01-Dec-26 07:02:00 GMT", 120),
        ("Tue Dec  1 07:02:00 2026", 120),
        ("Fri, 31 Dec 1999 23:59:59 GMT", 0),
        ("", None),
        ("-5", None),
        ("+5", None),
        ("1.5", None),
        ("120.1", None),
        ("1e9", None),
        ("NaN", None),
        ("inf", None),
        ("30s", None),
        ("30, 60", None),
        ("٣٠", None),
        ("\uff13\uff10", None),
        ("soon", None),
        ("Tue, 99 Dec 2026 07:02:00 GMT", None),
        ("Tue, 01 Dec 2026 07:02:00 GMT; drop", None),
        ("Tue, 01 Dec 99999 07:02:00 GMT", None),
        ("2026-12-01T07:02:00Z", None),
    ],
)
def test_retry_after_is_whole_seconds_or_a_date_and_nothing_else(value: str, seconds: float | None) -> None:
    assert parse_retry_after(value, now=NOW) == seconds


@given(st.text())
def test_retry_after_never_raises_and_is_never_negative(value: str) -> None:
    seconds = parse_retry_after(value, now=NOW)

    assert seconds is None or seconds >= 0


def test_the_schedule_lasts_about_32_hours() -> None:
    assert (len(SCHEDULE_S), round(sum(SCHEDULE_S) / 3600)) == (10, 32)


@given(st.text(), st.integers(min_value=1, max_value=100), st.floats(min_value=0, max_value=1e6))
def test_jitter_is_a_fifth_at_most_and_always_the_same(delivery_id: str, attempt: int, wait_s: float) -> None:
    jittered = jittered_s(delivery_id.encode("utf-8", "replace").decode(), attempt, wait_s)

    assert wait_s * 0.8 <= jittered <= wait_s * 1.2
    assert jittered == jittered_s(delivery_id.encode("utf-8", "replace").decode(), attempt, wait_s)


def test_deliveries_that_failed_together_do_not_return_together() -> None:
    waits = {round(jittered_s(f"msg_{n}", 2, 600)) for n in range(100)}

    assert len(waits) > 60
    assert (min(waits) < 520, max(waits) > 680) == (True, True)


def test_each_attempt_waits_for_its_place_in_the_schedule() -> None:
    for made in range(1, len(SCHEDULE_S)):
        at = next_attempt_at("msg_a", made, now=NOW)
        assert at is not None
        assert SCHEDULE_S[made] * 0.8 <= (at - NOW).total_seconds() <= SCHEDULE_S[made] * 1.2


def test_after_the_last_attempt_there_is_none() -> None:
    assert next_attempt_at("msg_a", 10, now=NOW) is None


def test_what_the_receiver_asked_for_is_never_shortened() -> None:
    assert next_attempt_at("msg_a", 1, now=NOW, at_least_s=64.57) == NOW + timedelta(seconds=64.57)


@pytest.mark.parametrize(
    ("schedule", "made", "at"),
    [([], 1, None), ([0], 1, None), ([0, 0], 1, NOW), ([0, 0], 2, None)],
)
def test_a_schedule_is_taken_at_its_word(schedule: list[float], made: int, at: datetime | None) -> None:
    assert next_attempt_at("msg_a", made, now=NOW, schedule_s=schedule) == at
