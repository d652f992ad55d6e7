"""The root of every frozen value that is written down: strict about keys, equal by content."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    """Be compared by content, never changed, and refuse a key that nobody declared."""

    model_config = ConfigDict(frozen=True, extra="forbid")
