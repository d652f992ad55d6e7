"""Read messages for Microsoft Teams."""

from __future__ import annotations

from tests.core.delivery.kind import Kind, under


def _bare(text: str) -> str:
    return text.replace("\u200b", "").replace("\\", "").replace("\u00a0", " ")


KIND = Kind(
    texts=lambda payload: [text for text in under(payload, "text", "title", "value") if isinstance(text, str)],
    live=r"\{\{",
    bare=_bare,
)
