"""Read messages for WeCom, of which one is either Markdown or text."""

from __future__ import annotations

from collections.abc import Iterator

from tests.core.delivery.kind import Kind, Payload


def _content(kind: str, payload: Payload) -> Iterator[str]:
    if payload["msgtype"] == kind:
        yield payload[kind]["content"]


KIND = Kind(
    measures={
        "text": lambda payload: _content("text", payload),
        "markdown": lambda payload: _content("markdown", payload),
    },
    live=r"<@|@(?:all|所有人)",
    fenced=True,
    bare=lambda text: text.replace("\u200b", ""),
)
