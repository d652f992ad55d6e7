"""What each receiver takes at most, as data with its source: the formats stay inside, and tests measure against it.

Units matter: one family emoji is 7 code points, 11 UTF-16 units, 25 bytes. Where a vendor says "characters" and no
more, both code points and UTF-16 units are to stay inside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Unit(StrEnum):
    """Say what is counted."""

    BYTES = "bytes"  # of UTF-8; of the whole request's body where the limit is called `body`
    CHARACTERS = "characters"  # code points and UTF-16 units, both
    UTF16 = "utf16"
    ITEMS = "items"

    def size(self, text: str) -> int:
        """Return how much of a limit a text takes; for characters the larger of the two counts."""
        if self is Unit.BYTES:
            return len(text.encode("utf-8", "surrogatepass"))
        return len(text.encode("utf-16-le", "surrogatepass")) // 2


@dataclass(frozen=True, slots=True)
class Limit:
    """Hold one bound.

    Attributes:
        most: At most this many.
        source: Who says so. `documented`: the vendor; `seen`: measured or met by others, so we stay well inside.
    """

    most: int
    unit: Unit
    source: str


def _bytes(most: int, source: str = "documented") -> Limit:
    return Limit(most, Unit.BYTES, source)


def _characters(most: int, source: str = "documented") -> Limit:
    return Limit(most, Unit.CHARACTERS, source)


def _items(most: int, source: str = "documented") -> Limit:
    return Limit(most, Unit.ITEMS, source)


LIMITS: Final[Mapping[str, Mapping[str, Limit]]] = {
    "standard": {"body": _bytes(20_000, "Standard Webhooks 1.0.0 asks for less than 20 kB")},
    "cloudevents": {"body": _bytes(64_000, "CloudEvents 1.0.2: consumers should take events of 64 KB")},
    "github": {
        "event_type": _characters(100),
        "client_payload keys": _items(10),
        "client_payload": _bytes(64_000, "documented as 64 KB"),
        "inputs": _items(25),
        "inputs total": _characters(65_535),
        "description": _characters(140),
        "context": _characters(255, "seen"),
    },
    "gitlab": {"variables": _items(100, "seen"), "variable value": _bytes(10_000, "documented as 10 kB and more")},
    "slack": {
        "header": _characters(150),
        "section": _characters(3000),
        "fields": _items(10),
        "field": _characters(2000),
        "blocks": _items(50),
        "context elements": _items(10),
        "button text": _characters(75),
        "button value": _characters(2000),
        "button url": _characters(3000),
        "action elements": _items(25),
        "identifier": _characters(255),
        "text": _characters(40_000),
        "total": _characters(13_000, "seen: msg_blocks_too_long at about 13 200 (slackapi/bolt-js#2509)"),
    },
    "discord": {
        "content": _characters(2000),
        "embeds": _items(10),
        "title": _characters(256),
        "description": _characters(4096),
        "fields": _items(25),
        "field name": _characters(256),
        "field value": _characters(1024),
        "footer": _characters(2048),
        "author": _characters(256),
        "embeds total": _characters(6000),
    },
    "teams": {"body": _bytes(18_000, "documented as 28 KB with everything; seen to fail from about 21 KB")},
    "mattermost": {"text": _characters(16_383, "documented; servers before 5.0 take 4000")},
    "google-chat": {"body": _bytes(32_000, "documented as 32 000 bytes with cards")},
    "feishu": {"body": _bytes(20_000, "documented as 20 KB")},
    "dingtalk": {"body": _bytes(20_000, "seen")},
    "wecom": {"text": _bytes(2048), "markdown": _bytes(4096)},
    "telegram": {"text": Limit(4096, Unit.UTF16, "documented, after entities are parsed"), "entities": _items(100)},
    "ntfy": {"message": _bytes(4096), "title": _bytes(250, "seen"), "tags": _items(5, "seen")},
    "pagerduty": {
        "body": _bytes(512_000),
        "summary": _characters(1024),
        "dedup_key": _characters(255),
        "links": _items(10, "seen"),
    },
    "bark": {"body": _bytes(4096, "documented: a push of Apple's is at most 4 KB")},
    "healthchecks": {"body": _bytes(10_000, "seen: 100 kB hosted, 10 kB by default where self-hosted")},
    "apprise": {
        "title": _characters(200, "seen: what most of its services take"),
        "text": _bytes(2000, "seen: what most of its services take"),
    },
    "email": {"subject": _characters(150, "seen: shown lines"), "body": _bytes(200_000, "seen: clients cut at 102 KB")},
}
