"""Tell by all its signs that a request was larger than the model's window: codes, wordings, and silence."""

from __future__ import annotations

import re
from typing import Final

from kova_auto.core.message import ModelReply, Usage
from kova_auto.core.stop_reason import StopReason

OVERFLOW_CODES: Final = frozenset(
    {
        "context_length_exceeded",
        "context_window_exceeded",
        "model_context_window_exceeded",
        "context_exceeded",
        "exceed_context_size_error",
        "request_too_large",
    }
)
_WORDS: Final = re.compile(
    r"""
    prompt\ (is\ |was\ |tokens\ )?too\ (long|large) | prompt\ exceeds
    | input\ is\ too\ long | too\ (long|large)\ for\ (the\ |this\ |requested\ )?model
    | (maximum|max)\ (context|prompt)\ length | context\ length\ is\ only | context\ (the\ )?overflow
    | (exceed|larger\ than|greater\ than|longer\ than)\w*\ .{0,60}context[\ _]?(window|length|size|limit)
    | context[\ _]?(window|length|size|limit)[\ _].{0,40}exceed
    | (input|prompt)\ (length|token\ count|tokens?)\ .{0,40}exceed | range\ of\ input\ length
    | exceed\w*\ .{0,20}(model|max)\w*[\ _]token\ limit | `?inputs`?\ tokens\ \+
    | reduce\ the\ length\ of\ the\ (messages|input|prompt) | too\ many\ (input\ |prompt\ )?tokens:
    """,
    re.IGNORECASE | re.VERBOSE,
)


def reads_as_overflow(message: str) -> bool:
    """Say whether a provider's message is one of the many wordings of an overflow."""
    return bool(_WORDS.search(message))


def overflowed_silently(reply: ModelReply, said: Usage | None, window: int | None) -> bool:
    """Say whether a reply that looks like a success shows that its request did not fit.

    Args:
        reply: What came.
        said: The tokens that the provider counted; an estimate of ours proves nothing.
        window: Of the model; None where nobody knows.
    """
    if said is None or window is None:
        return False
    was_left_no_room = reply.stop is StopReason.LENGTH and not reply.text and not reply.calls
    return said.input_tokens > window or (was_left_no_room and said.tokens >= window)
