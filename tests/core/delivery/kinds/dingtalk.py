"""Read messages for DingTalk."""

from __future__ import annotations

from tests.core.delivery.kind import Kind

KIND = Kind(live=r"(?<![A-Za-z0-9])@(?:all|所有人|\d{11})", fenced=True, bare=lambda text: text.replace("\u200b", ""))
