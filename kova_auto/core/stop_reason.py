"""Why a model stopped; apart from the messages, so that checking a script loads none of them."""

from __future__ import annotations

from enum import StrEnum


class StopReason(StrEnum):
    """Say why a reply ended."""

    END = "end"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    REFUSED = "refused"
    PAUSED = "paused"  # the provider wants to be asked again, with what it has said so far
