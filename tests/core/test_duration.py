"""Durations as people write them, and back."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from kova_auto.core.duration import Duration, parse_duration, render_duration

DURATION: TypeAdapter[timedelta] = TypeAdapter(Duration)


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("90s", timedelta(seconds=90)),
        ("20m", timedelta(minutes=20)),
        ("12h", timedelta(hours=12)),
        ("7d", timedelta(days=7)),
        ("1h30m", timedelta(minutes=90)),
        ("1d2h3m4.5s", timedelta(days=1, hours=2, minutes=3, seconds=4.5)),
        (" 5s\n", timedelta(seconds=5)),
        ("0s", timedelta(0)),
        ("0.000001s", timedelta(microseconds=1)),
        ("999999999d", timedelta(days=999_999_999)),
    ],
)
def test_a_duration_is_read(text: str, duration: timedelta) -> None:
    assert DURATION.validate_python(text) == duration


@pytest.mark.parametrize(
    "text",
    ["", " ", "5", "s", "m20", "20 m", "30m1h", "1h1h", "-5s", "+5s", "1.5h", "5S", "٣s", "1e3s", "PT5M", "1w", "5s;"],
)
def test_what_is_no_duration_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ValidationError, match='wanted a duration as "90s", "20m", "12h", "1h30m" or "7d"'):
        DURATION.validate_python(text)


@pytest.mark.parametrize("bare", [5, 0, 2.5, -1])
def test_a_bare_number_has_no_unit(bare: float) -> None:
    with pytest.raises(ValidationError, match="wanted a duration as .*, found '" + f"{bare:g}'"):
        DURATION.validate_python(bare)


@pytest.mark.parametrize("text", ["1000000000d", "9" * 400 + "d", "9" * 5000 + "h", "9" * 400 + "s"])
def test_a_duration_beyond_all_calendars_is_refused(text: str) -> None:
    with pytest.raises(ValidationError, match="wanted a duration of less than 999999999d"):
        DURATION.validate_python(text)


@pytest.mark.parametrize("other", [None, True, ["5s"], timedelta(seconds=5)])
def test_what_is_neither_text_nor_number_is_left_to_the_type(other: object) -> None:
    assert parse_duration(other) is other


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (timedelta(0), "0s"),
        (timedelta(seconds=90), "1m30s"),
        (timedelta(minutes=20), "20m"),
        (timedelta(hours=36), "1d12h"),
        (timedelta(days=1, seconds=1), "1d1s"),
        (timedelta(seconds=2.5), "2.5s"),
        (timedelta(microseconds=1), "0.000001s"),
        (timedelta(seconds=59, microseconds=123456), "59.123456s"),
        (timedelta(days=999_999_998, microseconds=1), "999999998d0.000001s"),
    ],
)
def test_a_duration_is_written_in_its_shortest_exact_form(duration: timedelta, text: str) -> None:
    assert render_duration(duration) == text


@given(st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=999_999_999)))
def test_what_is_written_is_read_back_to_the_microsecond(duration: timedelta) -> None:
    assert DURATION.validate_json(DURATION.dump_json(duration)) == duration
