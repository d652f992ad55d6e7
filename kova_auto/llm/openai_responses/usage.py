"""Count the tokens of a response."""

from __future__ import annotations

from pydantic import JsonValue

from kova_auto.core.message import Usage
from kova_auto.llm.counts import count_of
from kova_auto.llm.openai_responses.items import Item


def usage_of(response: Item) -> Usage | None:
    """Return what a response says it has used; None where it says nothing.

    Cached input is part of the input. A gateway that counts it besides is known by more cached tokens than input.
    """
    count = response.get("usage")
    if not isinstance(count, dict):
        return None
    asked, told = _object(count.get("input_tokens_details")), _object(count.get("output_tokens_details"))
    read, written = _int(asked.get("cached_tokens")), _int(asked.get("cache_write_tokens"))
    given = _int(count.get("input_tokens"))
    usage = Usage(
        input_tokens=given if read + written <= given else given + read + written,
        output_tokens=_int(count.get("output_tokens")),
        cache_read_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=_int(told.get("reasoning_tokens")),
    )
    return usage if usage.tokens else None


def _object(value: JsonValue) -> Item:
    return value if isinstance(value, dict) else {}


def _int(value: JsonValue) -> int:
    return count_of(value) or 0
