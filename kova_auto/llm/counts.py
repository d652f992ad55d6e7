"""Read a count of tokens that somebody else wrote: a whole number that can be kept, or nothing."""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue

MOST: Final = 2**53


def count_of(value: JsonValue) -> int | None:
    """Return a count; None where it is no number, below 0, or more than anybody can have meant."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST:
        return None
    return int(value)
