"""Count the tokens of a reply from wherever a server puts its count; estimate where it never says one."""

from __future__ import annotations

from pydantic import JsonValue

from kova_auto.core.message import ModelRequest, Usage
from kova_auto.llm.counts import count_of
from kova_auto.llm.estimate import estimated


class UsageCount:
    """Collect counts; they are cumulative, so the largest of each holds, however often it is repeated."""

    def __init__(self) -> None:
        self.said: Usage | None = None

    def add(self, chunk: dict[str, JsonValue]) -> None:
        """Take the count of a chunk, if it holds one."""
        choices = chunk.get("choices")
        for place in (chunk, chunk.get("x_groq"), *(choices if isinstance(choices, list) else ())):
            if place and isinstance(place, dict) and "usage" in place:  # Most hold none.
                self._add(place["usage"])

    def _add(self, count: JsonValue) -> None:
        if isinstance(count, dict) and (usage := _usage(count)).tokens:
            self.said = _larger(self.said, usage) if self.said else usage

    def usage(self, request: ModelRequest, written: int) -> Usage:
        """Return what was said, or an estimate.

        Args:
            request: What was asked.
            written: Characters that the model wrote, reasoning and arguments included.
        """
        return self.said or estimated(request, written)


def _usage(count: dict[str, JsonValue]) -> Usage:
    asked, told = _details(count, "prompt_tokens_details"), _details(count, "completion_tokens_details")
    cached = asked.get("cached_tokens") or count.get("prompt_cache_hit_tokens") or count.get("cached_tokens")
    return Usage(
        input_tokens=_int(count.get("prompt_tokens")),
        output_tokens=_int(count.get("completion_tokens")),
        cache_read_tokens=_int(cached),
        cache_write_tokens=_int(asked.get("cache_write_tokens")),
        reasoning_tokens=_int(told.get("reasoning_tokens")),
    )


def _details(count: dict[str, JsonValue], name: str) -> dict[str, JsonValue]:
    details = count.get(name)
    return details if isinstance(details, dict) else {}


def _int(value: JsonValue) -> int:
    return count_of(value) or 0


def _larger(one: Usage, other: Usage) -> Usage:
    return Usage(
        input_tokens=max(one.input_tokens, other.input_tokens),
        output_tokens=max(one.output_tokens, other.output_tokens),
        cache_read_tokens=max(one.cache_read_tokens, other.cache_read_tokens),
        cache_write_tokens=max(one.cache_write_tokens, other.cache_write_tokens),
        reasoning_tokens=max(one.reasoning_tokens, other.reasoning_tokens),
    )
