"""Which edition of the time zone rules is in effect is known, and said by the doctor and when the service starts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kova_auto.app.finding import Finding, Mark
from kova_auto.app.zones import ZoneRules, of_zones, zone_rules


def rules_in(place: Path, **files: str) -> Path:
    """Have a system's rules, with files that say of which edition they are."""
    (place / "Europe").mkdir(parents=True)
    (place / "Europe" / "Berlin").write_bytes(b"TZif2")
    for name, text in files.items():
        (place / name.replace("_", "+").replace("tzdata+zi", "tzdata.zi")).write_text(text)
    return place


@pytest.mark.parametrize(
    ("files", "edition"),
    [
        ({"tzdata_zi": "# version 2025b\n# ddeps backzone\n"}, "2025b"),
        ({"_VERSION": "2026a\n"}, "2026a"),
        ({"tzdata_zi": "# nothing of the kind\n", "_VERSION": "2026a\n"}, "2026a"),
        ({}, ""),
    ],
)
def test_the_systems_rules_come_first_and_say_of_which_edition_they_are(
    tmp_path: Path, files: dict[str, str], edition: str
) -> None:
    place = rules_in(tmp_path / "zoneinfo", **files)
    later = rules_in(tmp_path / "later", _VERSION="1999a\n")

    assert zone_rules([str(tmp_path / "nothing"), str(place), str(later)]) == ZoneRules(edition, str(place))


def test_without_any_of_the_system_the_package_has_them(tmp_path: Path) -> None:
    rules = zone_rules([str(tmp_path)])

    assert rules.place == "the package tzdata"
    assert re.fullmatch(r"20\d\d[a-z]+", rules.edition)


@pytest.mark.parametrize(
    ("rules", "said", "finding"),
    [
        (
            ZoneRules("2026a", "/usr/share/zoneinfo"),
            "time zone rules 2026a of /usr/share/zoneinfo",
            Finding("zones", "/usr/share/zoneinfo", Mark.OK, "time zone rules 2026a"),
        ),
        (
            ZoneRules("", "/srv/zones"),
            "time zone rules of an unknown edition of /srv/zones",
            Finding("zones", "/srv/zones", Mark.OK, "time zone rules of an edition that it hides"),
        ),
        (
            ZoneRules("", ""),
            "no time zone rules",
            Finding(
                "zones",
                "time zone rules",
                Mark.FAIL,
                "there are none, so that no schedule can name a zone: install the package tzdata",
            ),
        ),
    ],
)
def test_the_edition_is_said_in_a_line(rules: ZoneRules, said: str, finding: Finding) -> None:
    assert (str(rules), of_zones(rules)) == (said, finding)
