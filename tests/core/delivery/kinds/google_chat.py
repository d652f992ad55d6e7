"""Read messages for Google Chat."""

from __future__ import annotations

from tests.core.delivery.kind import Kind

KIND = Kind(
    texts=lambda payload: [payload["text"]],
    live=r"<users/|<(?!https?://)[^\s\u200b|]*\|",
    fenced=True,
    options=({}, {"thread": "run"}, {"thread": "job"}),
)
