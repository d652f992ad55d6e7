"""Read messages for Discord."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kova_auto.core.delivery.limits import Unit
from tests.core.delivery.kind import Kind, Measured, Payload, texts_in


def _embeds(payload: Payload) -> list[Any]:
    return list(payload.get("embeds", []))


def _each(key: str) -> Callable[[Payload], Measured]:
    return lambda payload: [one[key] for one in _embeds(payload) if key in one]


def _fields(payload: Payload) -> list[Any]:
    return [field for one in _embeds(payload) for field in one.get("fields", [])]


def _shown(payload: Payload) -> Iterator[str]:
    """Yield what counts for all embeds together: every text of them."""
    yield from (text for one in _embeds(payload) for text in texts_in(one))


KIND = Kind(
    measures={
        "content": lambda payload: [payload.get("content", "")],
        "embeds": lambda payload: len(_embeds(payload)),
        "title": _each("title"),
        "description": _each("description"),
        "fields": lambda payload: max((len(one.get("fields", [])) for one in _embeds(payload)), default=0),
        "field name": lambda payload: [field["name"] for field in _fields(payload)],
        "field value": lambda payload: [field["value"] for field in _fields(payload)],
        "footer": lambda payload: [one["footer"]["text"] for one in _embeds(payload) if "footer" in one],
        "author": lambda payload: [one["author"]["name"] for one in _embeds(payload) if "author" in one],
        "embeds total": lambda payload: sum(map(Unit.CHARACTERS.size, _shown(payload))),
    },
    texts=lambda payload: [payload.get("content", ""), *_shown(payload)],
    live=r"@(?:everyone|here)\b|<(?:@[!&]?|#|a?:\w+:|id:)\d",
    fenced=True,
)
