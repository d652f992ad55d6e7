"""Read the calendars of the settings: dates that are listed there, and files of dates."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Final

from kova_auto.core.errors import ConfigError, SettingsError
from kova_auto.core.schedule.exclusions import parse_date
from kova_auto.core.toml.places import Key
from kova_auto.core.toml.problems import Problems
from kova_auto.settings.model import CalendarTable, SettingsFile
from kova_auto.settings.text import absolute, read_text

_DATE: Final = len("2026-12-25")


def read_calendars(file: SettingsFile, base: Path, problems: Problems[SettingsError]) -> dict[str, CalendarTable]:
    """Return the calendars with all of their dates, those of their files among them.

    Args:
        file: What the settings say.
        base: Where relative paths begin.
        problems: Is told what is wrong.
    """
    return {name: _read(("calendars", name), table, base, problems) for name, table in file.calendars.items()}


def parse_calendar(text: str, path: Path) -> Iterator[date]:
    """Read a text with one date a line; what follows a date is a note, as is a line that begins with #.

    Raises:
        ConfigError: With path and line, at the first line that is neither.
    """
    for number, line in enumerate(text.splitlines(), start=1):
        written = line.strip()
        if not written or written.startswith("#"):
            continue
        word, *_ = written.split(maxsplit=1)
        try:
            yield parse_date(word)
        except ConfigError as exc:
            message = f"wanted a date at the beginning of the line, found {word[:_DATE]!r}"
            raise ConfigError(message, path=str(path), line=number, hint="one a line, as 2026-12-25 Christmas") from exc


def _read(key: Key, table: CalendarTable, base: Path, problems: Problems[SettingsError]) -> CalendarTable:
    found: set[date] = set()
    for index, written in enumerate(table.dates):
        try:
            found.add(parse_date(written))
        except ConfigError as exc:
            problems.pass_on((*key, "dates", index), exc)
    if table.file is not None:
        try:
            path = absolute(table.file, base)
            found.update(parse_calendar(read_text(path), path))
        except ConfigError as exc:
            problems.pass_on((*key, "file"), exc)
    if not found:
        problems.add(key, "wanted at least one date, in dates or in a file, found none")
    return CalendarTable(dates=tuple(str(day) for day in sorted(found)))
