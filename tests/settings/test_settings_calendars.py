"""Calendars are dates in the settings, or in a file beside them."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from kova_auto.core.errors import SettingsError
from kova_auto.settings.load import load_settings
from kova_auto.settings.model import Settings

CHRISTMAS, BOXING_DAY, NEW_YEAR = date(2026, 12, 25), date(2026, 12, 26), date(2027, 1, 1)


def loaded(home: Path, text: str, **variables: str) -> Settings:
    path = home / "kova-auto.toml"
    path.write_text(text)
    return load_settings(path, {"HOME": str(home), **variables})


def problems_of(home: Path, text: str) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        loaded(home, text)
    return [problem.sentence.replace(f"{home}/", "") for problem in caught.value.problems]


def test_without_any_there_are_none(tmp_path: Path) -> None:
    assert loaded(tmp_path, "").calendar_dates == {}


def test_dates_stand_in_the_settings_or_in_a_file_beside_them(tmp_path: Path) -> None:
    (tmp_path / "days.txt").write_text(
        "# Public holidays\n\n2026-12-26  Boxing Day\r\n  2027-01-01\n2026-12-26 again\n"
    )
    settings = loaded(
        tmp_path,
        '[calendars.holidays]\ndates = [2026-12-25, "2026-12-26"]\nfile = "days.txt"\n'
        '[calendars.fairs]\ndates = ["2026-12-25"]\n',
    )
    assert settings.calendar_dates == {
        "holidays": frozenset({CHRISTMAS, BOXING_DAY, NEW_YEAR}),
        "fairs": frozenset({CHRISTMAS}),
    }


def test_a_variable_may_name_the_file(tmp_path: Path) -> None:
    (tmp_path / "days.txt").write_text("2026-12-25")
    settings = loaded(tmp_path, "", KOVA_AUTO_CALENDARS__HOLIDAYS__FILE="days.txt")
    assert settings.calendar_dates == {"holidays": frozenset({CHRISTMAS})}


def test_what_is_wrong_is_named_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "days.ics").write_text("BEGIN:VCALENDAR\nBEGIN:VEVENT\n")
    (tmp_path / "days.txt").write_text("2026-12-25\n2026-12-26, Boxing Day\n")
    (tmp_path / "empty.txt").write_text("# nothing yet\n")
    text = """\
[calendars.a]
dates = ["2026-12-25", "25 December"]
[calendars.b]
file = "days.ics"
[calendars.c]
file = "days.txt"
[calendars.d]
file = "none.txt"
[calendars.e]
file = "empty.txt"
[calendars.f]
days = ["2026-12-25"]
"""
    beginning, hint = "wanted a date at the beginning of the line", "(one a line, as 2026-12-25 Christmas)"
    assert problems_of(tmp_path, text) == [
        "kova-auto.toml:2: calendars.a.dates[1]: wanted a date, found '25 December' (for example 2026-12-25)",
        f"kova-auto.toml:4: calendars.b.file: days.ics:1: {beginning}, found 'BEGIN:VCAL' {hint}",
        f"kova-auto.toml:6: calendars.c.file: days.txt:2: {beginning}, found '2026-12-26' {hint}",
        "kova-auto.toml:8: calendars.d.file: none.txt: wanted a text file, found nothing",
        "kova-auto.toml:9: calendars.e: wanted at least one date, in dates or in a file, found none",
        "kova-auto.toml:12: calendars.f.days: unknown key (did you mean dates?)",
    ]
