"""Read messages for ntfy, which can call nobody."""

from __future__ import annotations

from tests.core.delivery.kind import Kind

KIND = Kind(
    measures={
        "message": lambda payload: [payload["message"]],
        "title": lambda payload: [payload["title"]],
        "tags": lambda payload: len(payload["tags"]),
    },
    texts=lambda payload: [payload["title"], payload["message"]],
    fenced=True,
    bare=lambda text: text.replace("\u200b", ""),
)
