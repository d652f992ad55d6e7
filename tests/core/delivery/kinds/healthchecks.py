"""Read pings for Healthchecks: their body is plain text."""

from __future__ import annotations

from tests.core.delivery.kind import Kind

KIND = Kind(
    read=lambda message: message.body.decode("utf-8"),
    texts=lambda payload: [payload],
    bare=lambda text: text.replace("\u200b", ""),
)
