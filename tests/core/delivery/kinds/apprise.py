"""Read notes for the long tail, as they are handed to what carries them: plain text."""

from __future__ import annotations

from tests.core.delivery.kind import Kind

KIND = Kind(
    measures={
        "title": lambda payload: [payload["title"]],
        "text": lambda payload: [payload["text"]],
    },
    texts=lambda payload: [payload["title"], payload["text"]],
    live=r"<[!@#]|@(?:here|channel|everyone|all)\b",
    bare=lambda text: text.replace("\u200b", ""),
)
