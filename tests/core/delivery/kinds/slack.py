"""Read messages for Slack."""

from __future__ import annotations

from collections.abc import Iterator
from html import unescape
from typing import Any

from kova_auto.core.delivery.limits import Unit
from tests.core.delivery.kind import Kind, Payload, under


def _blocks(payload: Payload, kind: str) -> list[Any]:
    return [block for block in payload.get("blocks", []) if block["type"] == kind]


def _shown(payload: Payload) -> Iterator[str]:
    yield from (text for text in under(payload.get("blocks", []), "text") if isinstance(text, str))


def _buttons(payload: Payload) -> list[Any]:
    return [one for block in _blocks(payload, "actions") for one in block["elements"] if one["type"] == "button"]


def _most(payload: Payload, kind: str, key: str) -> int:
    return max((len(block.get(key, [])) for block in _blocks(payload, kind)), default=0)


KIND = Kind(
    measures={
        "header": lambda payload: [block["text"]["text"] for block in _blocks(payload, "header")],
        "section": lambda payload: [one["text"]["text"] for one in _blocks(payload, "section") if "text" in one],
        "fields": lambda payload: _most(payload, "section", "fields"),
        "field": lambda payload: [one["text"] for fields in under(payload, "fields") for one in fields],
        "blocks": lambda payload: len(payload.get("blocks", [])),
        "context elements": lambda payload: _most(payload, "context", "elements"),
        "button text": lambda payload: [one["text"]["text"] for one in _buttons(payload)],
        "button value": lambda payload: [one["value"] for one in _buttons(payload) if "value" in one],
        "button url": lambda payload: [one["url"] for one in _buttons(payload) if "url" in one],
        "action elements": lambda payload: _most(payload, "actions", "elements"),
        "identifier": lambda payload: under(payload, "block_id", "action_id"),
        "text": lambda payload: [payload["text"]],
        "total": lambda payload: sum(map(Unit.CHARACTERS.size, _shown(payload))),
    },
    texts=lambda payload: [payload["text"], *_shown(payload)],
    live=r"<[!@#]|@(?:here|channel|everyone|group)\b",
    fenced=True,
    bare=lambda text: unescape(text.replace("\u200b", "")),
)
