"""How much of a model's window a request may fill, so that there is room for a reply and for what was guessed wrong.

Source: reference on Kova, 7.
"""

from __future__ import annotations

from typing import Final

from kova_auto.core.budget import LARGEST_REPLY
from kova_auto.core.pin import Capability

DEFAULT_WINDOW: Final = 128_000
"""Tokens that a model is taken to have of which nobody knows how many it has."""
DEFAULT_OUTPUT: Final = 8_192
_HEADROOM: Final = 16_384


def headroom(window: int = 0, max_output: int = 0) -> int:
    """Return how many tokens of a window are kept free.

    Args:
        window: Tokens of request and reply together; 0 where nobody knows.
        max_output: Tokens that a reply may have; 0 where nobody knows.
    """
    window, max_output = window or DEFAULT_WINDOW, max_output or DEFAULT_OUTPUT
    usual, reply, least = min(_HEADROOM, window // 2), min(max_output, window // 4), window // 20
    return min(window - 1, max(usual, reply, least))


def hard_limit(window: int = 0, max_output: int = 0) -> int:
    """Return how many tokens a request may have; see `headroom`."""
    return (window or DEFAULT_WINDOW) - headroom(window, max_output)


def limit_of(known: Capability) -> int:
    """Return how many tokens a request to a model may have; no reply is asked for that is longer than our longest."""
    return hard_limit(known.window or 0, min(known.max_output or DEFAULT_OUTPUT, LARGEST_REPLY))
