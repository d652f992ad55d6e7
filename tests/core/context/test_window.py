"""How much of a window a request may fill."""

from __future__ import annotations

import pytest

from kova_auto.core.context.window import hard_limit, headroom, limit_of
from kova_auto.core.pin import Capability


@pytest.mark.parametrize(
    ("window", "max_output", "kept_free"),
    [
        (4_000, 1_000, 2_000),
        (200_000, 8_192, 16_384),
        (0, 0, 16_384),
        (16_000, 0, 8_000),
        (1_000_000, 8_192, 50_000),
        (200_000, 64_000, 50_000),
        (200_000, 32_768, 32_768),
        (2, 1, 1),
        (1, 1, 0),
    ],
)
def test_so_much_of_a_window_is_kept_free(window: int, max_output: int, kept_free: int) -> None:
    assert headroom(window, max_output) == kept_free
    assert hard_limit(window, max_output) == (window or 128_000) - kept_free


@pytest.mark.parametrize(
    ("known", "limit"),
    [
        (Capability(), 111_616),
        (Capability(window=4_000, max_output=1_000), 2_000),
        (Capability(window=1_000_000, max_output=500_000), 950_000),
        (Capability(window=200_000, max_output=64_000), 167_232),
    ],
)
def test_the_limit_of_a_model_minds_the_longest_reply_that_is_asked_for(known: Capability, limit: int) -> None:
    assert limit_of(known) == limit
