"""Read messages for Feishu and Lark."""

from __future__ import annotations

from tests.core.delivery.kind import Kind

KIND = Kind(live=r"<at\b|@(?:all|所有人)", fenced=True, bare=lambda text: text.replace("\u200b", ""))
