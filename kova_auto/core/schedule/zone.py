"""Between the wall clock of a time zone and UTC, and what is odd where the offset changes.

A *wall* is a naive datetime: what a clock in the zone shows. When an offset changes, some walls are missing (clocks
jump forward) or repeated (they jump back). What a schedule makes of these is decided elsewhere. All arithmetic is in
UTC, because adding to an aware local datetime ignores the change between.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from kova_auto.core.errors import ConfigError

SECOND: Final = timedelta(seconds=1)
_ZERO: Final = timedelta(0)
_QUARTER_S: Final = 900
# Adding to these takes a seventh of what `replace(tzinfo=…)` does.
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_WALL: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - a wall has no zone
_FIXED_OFFSET: Final = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::?00)?", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Shift:
    """Hold one change of a zone's offset: at `at` (UTC), from `before` to `after`."""

    at: datetime
    before: timedelta
    after: timedelta

    @property
    def is_gap(self) -> bool:
        """Say whether walls are missing; otherwise they are repeated."""
        return self.after > self.before

    @property
    def length(self) -> timedelta:
        """Return how much wall time is missing or repeated."""
        return abs(self.after - self.before)

    @property
    def stops(self) -> datetime:
        """Return the wall at which the old offset ends, exclusive."""
        return _wall_at(self.at, self.before)

    @property
    def resumes(self) -> datetime:
        """Return the wall at which the new offset begins, inclusive."""
        return _wall_at(self.at, self.after)


def to_wall(instant: datetime, zone: ZoneInfo) -> datetime:
    """Return what the zone's clock shows, in whole seconds; `fold` is 1 in the second pass of a repeated wall."""
    local = instant.astimezone(zone)
    wall = datetime.combine(local.date(), local.time())  # keeps the fold
    return wall.replace(microsecond=0) if wall.microsecond else wall


def to_instant(wall: datetime, offset: timedelta) -> datetime:
    """Return the UTC instant at which a clock of this offset shows `wall`."""
    return _EPOCH + (wall - offset - _EPOCH_WALL)


def offsets_of(wall: datetime, zone: ZoneInfo) -> tuple[timedelta, timedelta]:
    """Return the offsets before and after the change that `wall` is touched by; twice the same for an ordinary wall.

    A missing wall has the smaller one first, a repeated one the greater.
    """
    first = wall.replace(fold=0) if wall.fold else wall
    # Never None: a ZoneInfo knows an offset for every datetime.
    return zone.utcoffset(first) or _ZERO, zone.utcoffset(first.replace(fold=1)) or _ZERO


def shift_at(wall: datetime, zone: ZoneInfo) -> Shift | None:
    """Find the change that makes `wall` missing or repeated; None for an ordinary wall."""
    before, after = offsets_of(wall, zone)
    return None if before == after else locate(wall, before, after, zone)


def locate(wall: datetime, before: timedelta, after: timedelta, zone: ZoneInfo) -> Shift:
    """Find the change that touches `wall`, whose two offsets are known and differ.

    Without its fold, a wall has the offset `after` from the end of what is missing or repeated on.
    """
    start = wall.replace(fold=0) if wall.fold else wall

    def is_past(seconds: int) -> bool:
        return zone.utcoffset(start + timedelta(0, seconds)) == after

    # Nearly every change is on a quarter of an hour: looking there first takes a third of the questions.
    length = abs(after - before) // SECOND
    quarters = range(-(wall.minute * 60 + wall.second) % _QUARTER_S, length, _QUARTER_S)
    index = bisect_left(quarters, True, key=is_past)  # noqa: FBT003 - what is sought is an answer
    low = quarters[index - 1] if index else 0
    high = quarters[index] if index < len(quarters) else length
    if is_past(high - 1):
        high = low + bisect_left(range(low, high), True, key=is_past)  # noqa: FBT003
    return Shift(to_instant(start + timedelta(0, high), max(before, after)), before, after)


def resolve(wall: datetime, zone: ZoneInfo) -> datetime:
    """Return the UTC instant of a wall: the first of a repeated one, the gap's end for a missing one."""
    shift = shift_at(wall, zone)
    if shift is not None and shift.is_gap:
        return shift.at
    return to_instant(wall, offsets_of(wall, zone)[0])


def parse_zone(name: str) -> ZoneInfo:
    """Load a time zone by its IANA name, in any case and with blanks for underscores.

    Raises:
        ConfigError: No such zone; the hint names a likely one.
    """
    wanted = name.strip().replace(" ", "_")
    # Every IANA name spells its parts with capitals; `right/…`, `posix/…` and `localtime` are files beside them.
    if all(part[:1].isupper() for part in wanted.split("/")):
        try:
            return ZoneInfo(wanted)
        except (LookupError, ValueError, OSError):  # unknown; malformed; a directory
            pass
    known = _known_names().get(wanted.casefold())
    if known is None:
        message = f"wanted the IANA name of a time zone, found {name!r}"
        raise ConfigError(message, key="timezone", hint=_zone_hint(wanted))
    return ZoneInfo(known)


def _wall_at(instant: datetime, offset: timedelta) -> datetime:
    return _EPOCH_WALL + (instant + offset - _EPOCH)


@cache
def _known_names() -> dict[str, str]:
    return {name.casefold(): name for name in available_timezones() if name != "localtime"}


def _zone_hint(wanted: str) -> str:
    fixed = _FIXED_OFFSET.fullmatch(wanted)
    if fixed:
        sign = "-" if fixed[1] == "+" else "+"
        return f"a fixed offset is written with the sign turned round: Etc/GMT{sign}{int(fixed[2])}"
    folded, known = wanted.casefold(), _known_names()
    cities = sorted(name for key, name in known.items() if key.rpartition("/")[2] == folded)
    places = [key for key in known if "/" in key]
    likely = cities or [known[key] for key in get_close_matches(folded[:40], places, n=1, cutoff=0.8)]
    return f"did you mean {likely[0]}?" if likely else "for example Europe/Berlin or UTC"
