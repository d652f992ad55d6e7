"""Names of time zones, and what is odd where a zone's offset changes."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from kova_auto.core.errors import ConfigError
from kova_auto.core.schedule.zone import Shift, parse_zone, resolve, shift_at
from tests.core.schedule.schedule_oracle import utc

HOUR = timedelta(hours=1)
BERLIN = parse_zone("Europe/Berlin")


def wall(text: str) -> datetime:
    return datetime.fromisoformat(text)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("Europe/Berlin", "Europe/Berlin"),
        ("europe/berlin", "Europe/Berlin"),
        (" America/new york ", "America/New_York"),
        ("utc", "UTC"),
        ("Etc/GMT+5", "Etc/GMT+5"),
        ("America/Port-au-Prince", "America/Port-au-Prince"),
        ("us/pacific", "US/Pacific"),
    ],
)
def test_a_zone_is_found_by_its_name_in_any_case(written: str, name: str) -> None:
    assert parse_zone(written) is ZoneInfo(name)


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("Berlin", "did you mean Europe/Berlin?"),
        ("new york", "did you mean America/New_York?"),
        ("Europe/Berln", "did you mean Europe/Berlin?"),
        ("UTC+2", "a fixed offset is written with the sign turned round: Etc/GMT-2"),
        ("-05:00", "a fixed offset is written with the sign turned round: Etc/GMT+5"),
        ("CEST", "for example Europe/Berlin or UTC"),
        ("", "for example Europe/Berlin or UTC"),
        ("Europe", "for example Europe/Berlin or UTC"),
        ("localtime", "for example Europe/Berlin or UTC"),
        ("../Europe/Berlin", "did you mean Europe/Berlin?"),
        ("../../etc/passwd", "for example Europe/Berlin or UTC"),
        ("X" * 6000, "for example Europe/Berlin or UTC"),
    ],
)
def test_an_unknown_zone_is_refused_with_a_likely_name(written: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_zone(written)
    message = f"wanted the IANA name of a time zone, found {written!r}"
    assert (caught.value.key, caught.value.message, caught.value.hint) == ("timezone", message, hint)


@pytest.mark.parametrize(
    ("zone", "moment", "shift"),
    [
        ("Europe/Berlin", "2026-03-29T01:59:59", None),
        ("Europe/Berlin", "2026-03-29T02:00", Shift(utc("2026-03-29T01:00"), HOUR, 2 * HOUR)),
        ("Europe/Berlin", "2026-03-29T02:59:59", Shift(utc("2026-03-29T01:00"), HOUR, 2 * HOUR)),
        ("Europe/Berlin", "2026-03-29T03:00", None),
        ("Europe/Berlin", "2026-10-25T01:59:59", None),
        ("Europe/Berlin", "2026-10-25T02:00", Shift(utc("2026-10-25T01:00"), 2 * HOUR, HOUR)),
        ("Europe/Berlin", "2026-10-25T02:59:59", Shift(utc("2026-10-25T01:00"), 2 * HOUR, HOUR)),
        ("Europe/Berlin", "2026-10-25T03:00", None),
        ("Australia/Lord_Howe", "2026-10-04T02:15", Shift(utc("2026-10-03T15:30"), 10.5 * HOUR, 11 * HOUR)),
        ("Pacific/Apia", "2011-12-30T12:00", Shift(utc("2011-12-30T10:00"), -10 * HOUR, 14 * HOUR)),
        # Far beyond any table of changes, and to the second.
        ("Europe/Dublin", "2199-10-27T01:30", Shift(utc("2199-10-27T01:00"), HOUR, timedelta(0))),
        (
            "Europe/Amsterdam",
            "1937-07-01T00:00:10",
            Shift(utc("1937-06-30T22:40:28"), timedelta(seconds=4772), timedelta(seconds=4800)),
        ),
        ("UTC", "2026-03-29T02:00", None),
    ],
)
def test_a_change_is_found_from_each_wall_that_it_touches(zone: str, moment: str, shift: Shift | None) -> None:
    assert shift_at(wall(moment), parse_zone(zone)) == shift


@pytest.mark.parametrize(
    ("moment", "instant"),
    [
        ("2026-01-01T12:00", "2026-01-01T11:00"),
        ("2026-03-29T02:30", "2026-03-29T01:00"),
        ("2026-10-25T02:30", "2026-10-25T00:30"),
    ],
)
def test_a_missing_wall_means_the_end_of_the_gap_and_a_repeated_one_its_first_pass(moment: str, instant: str) -> None:
    assert resolve(wall(moment), BERLIN) == utc(instant)
