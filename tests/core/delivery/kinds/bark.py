"""Read pushes for Bark, which are read as plain text."""

from __future__ import annotations

from tests.core.delivery.kind import Kind

KIND = Kind(
    texts=lambda payload: [payload["title"], payload["body"]],
    options=({}, {"sound": "bell", "group": "night shift"}),
    bare=lambda text: text.replace("\u200b", ""),
)
