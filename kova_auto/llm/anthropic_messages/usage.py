"""Count the tokens of a reply: what is said at its start, overwritten by what is said at its end; never added up.

The protocol counts plain, cache-written and cache-read input apart. Gateways say some of it only at the end, correct
it there, or send zeros there that mean nothing.
"""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue

from kova_auto.core.message import ModelRequest, Usage
from kova_auto.llm.counts import count_of
from kova_auto.llm.estimate import at_least, estimated

_INPUT: Final = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_OUTPUT: Final = "output_tokens"


class UsageCount:
    """Collect the counts of one reply."""

    def __init__(self) -> None:
        self._input: dict[str, int] = {}
        self._output = self._thinking = 0
        self._is_final = False

    def add(self, count: JsonValue, *, final: bool) -> None:
        """Take one `usage`.

        Args:
            count: As it came.
            final: It was said with the reply's end, so its output is more than a beginning.
        """
        if not isinstance(count, dict):
            return
        given = {name: number for name in _INPUT if (number := count_of(count.get(name))) is not None}
        if any((corrected := self._input | given).values()):
            self._input = corrected
        if output := count_of(count.get(_OUTPUT)):
            self._output, self._is_final = output, final
        details = count.get("output_tokens_details")
        if isinstance(details, dict) and (thinking := count_of(details.get("thinking_tokens"))) is not None:
            self._thinking = thinking

    @property
    def said(self) -> Usage | None:
        """Return what has been said so far; None where that is nothing."""
        usage = Usage(
            input_tokens=sum(self._input.values()),
            output_tokens=self._output,
            cache_write_tokens=self._input.get("cache_creation_input_tokens", 0),
            cache_read_tokens=self._input.get("cache_read_input_tokens", 0),
            reasoning_tokens=self._thinking,
        )
        return usage if usage.tokens else None

    def usage(self, request: ModelRequest, written: int) -> Usage:
        """Return what was said; an estimate of what was not.

        Args:
            request: What was asked.
            written: Characters that the model wrote, reasoning and arguments included.
        """
        said = self.said
        if said and self._is_final:
            return said
        return at_least(said, request, written) or estimated(request, written)
