"""Between the wall clock of a time zone and UTC, and what is odd where the offset changes.

A *wall* is a naive datetime: what a clock in the zone shows. When an offset changes, some walls are missing (clocks
jump forward) or repeated (they jump back). What a schedule makes of these is decided elsewhere. All arithmetic is in
UTC, because adding to an aware local datetime ignores the change between.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from kova_auto.core.errors import ConfigError

SECOND: Final = timedelta(seconds=1)
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
        return (self.at + self.before).replace(tzinfo=None)

    @property
    def resumes(self) -> datetime:
        """Return the wall at which the new offset begins, inclusive."""
        return (self.at + self.after).replace(tzinfo=None)


def to_wall(instant: datetime, zone: ZoneInfo) -> datetime:
    """Return what the zone's clock shows, in whole seconds; `fold` is 1 in the second pass of a repeated wall."""
    return instant.astimezone(zone).replace(microsecond=0, tzinfo=None)


def to_instant(wall: datetime, offset: timedelta) -> datetime:
    """Return the UTC instant at which a clock of this offset shows `wall`."""
    return (wall - offset).replace(tzinfo=UTC)


def offset_of(wall: datetime, zone: ZoneInfo) -> timedelta:
    """Return the offset under which `wall` is first shown; for a missing wall, the one before the gap."""
    return _offset(wall.replace(fold=0), zone)


def shift_at(wall: datetime, zone: ZoneInfo) -> Shift | None:
    """Find the change that makes `wall` missing or repeated; None for an ordinary wall."""
    before, after = _offset(wall.replace(fold=0), zone), _offset(wall.replace(fold=1), zone)
    if before == after:
        return None
    earlier, later = to_instant(wall, max(before, after)), to_instant(wall, min(before, after))
    while later - earlier > SECOND:
        middle = earlier + (later - earlier) // SECOND // 2 * SECOND
        if middle.astimezone(zone).utcoffset() == after:
            later = middle
        else:
            earlier = middle
    return Shift(later, before, after)


def resolve(wall: datetime, zone: ZoneInfo) -> datetime:
    """Return the UTC instant of a wall: the first of a repeated one, the gap's end for a missing one."""
    shift = shift_at(wall, zone)
    if shift is not None and shift.is_gap:
        return shift.at
    return to_instant(wall, offset_of(wall, zone))


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


def _offset(wall: datetime, zone: ZoneInfo) -> timedelta:
    # Never None: a ZoneInfo knows an offset for every datetime.
    return zone.utcoffset(wall) or timedelta(0)


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
