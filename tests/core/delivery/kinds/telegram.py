"""Read messages for Telegram."""

from __future__ import annotations

from tests.core.delivery.kind import Kind, Payload


def _without_code(payload: Payload) -> list[str]:
    """Return the text outside of code, where Telegram looks for no names."""
    units = payload["text"].encode("utf-16-le")
    for entity in payload.get("entities", []):
        if entity["type"] in {"code", "pre"}:
            start, end = 2 * entity["offset"], 2 * (entity["offset"] + entity["length"])
            units = units[:start] + " ".encode("utf-16-le") * entity["length"] + units[end:]
    return [units.decode("utf-16-le")]


KIND = Kind(
    measures={
        "text": lambda payload: [payload["text"]],
        "entities": lambda payload: len(payload.get("entities", [])),
    },
    texts=lambda payload: [payload["text"]],
    live=r"(?<!\w)@\w",
    spoken=_without_code,
    options=({"chat_id": "-1001234567890"}, {"chat_id": "@a_channel", "topic_id": "7"}),
)
