"""Say which edition of the time zone rules this process goes by: what a clock shows next year depends on it.

The system's are used where it has any, and else those of the package `tzdata`, as `zoneinfo` finds them.
"""

from __future__ import annotations

import zoneinfo
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from kova_auto.app.finding import Finding, Mark

_ASKED: Final = Path("Europe", "Berlin")
_LABEL: Final = "# version "


@dataclass(frozen=True, slots=True)
class ZoneRules:
    """Hold where the rules are from.

    Attributes:
        edition: As `2026a`; empty where the place does not say.
        place: A directory, or the package; empty where there are none at all.
    """

    edition: str
    place: str

    def __str__(self) -> str:
        if not self.place:
            return "no time zone rules"
        return f"time zone rules {self.edition or 'of an unknown edition'} of {self.place}"


def zone_rules(places: Iterable[str] = zoneinfo.TZPATH) -> ZoneRules:
    """Return which rules are in effect; `places` are those where the system may have some, the first one counts."""
    for place in map(Path, places):
        if (place / _ASKED).is_file():
            return ZoneRules(_edition(place), str(place))
    package = find_spec("tzdata")
    if package is None or package.origin is None:
        return ZoneRules("", "")
    return ZoneRules(_edition(Path(package.origin).with_name("zoneinfo")), "the package tzdata")


def _edition(place: Path) -> str:
    """Return what a directory says of its edition: the first line of one file, or all of another."""
    for name in ("tzdata.zi", "+VERSION"):
        try:
            with (place / name).open(encoding="utf-8", errors="replace") as file:
                line = file.readline(100).strip()
        except OSError:
            continue
        if name == "+VERSION" or line.startswith(_LABEL):
            return line.removeprefix(_LABEL)
    return ""


def of_zones(rules: ZoneRules) -> Finding:
    """Say which rules schedules go by."""
    if not rules.place:
        text = "there are none, so that no schedule can name a zone: install the package tzdata"
        return Finding("zones", "time zone rules", Mark.FAIL, text)
    return Finding("zones", rules.place, Mark.OK, f"time zone rules {rules.edition or 'of an edition that it hides'}")
