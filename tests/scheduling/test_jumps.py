"""A clock that is set, and a machine that sleeps, are noticed by a clock that nobody sets."""

from __future__ import annotations

import pytest

from kova_auto.scheduling.jumps import Jumps
from tests.doubles.clock import HandClock


@pytest.mark.parametrize(
    ("slept_s", "jumped_s", "back", "line"),
    [
        (30, 0, False, None),
        (30, 1.5, False, None),
        (30, -1.5, False, None),
        (30, 28_800, False, "the clock is 28800 s ahead: it was set, or this machine slept"),
        (30, -20, True, "the clock was set back by 20 s; no instant is repeated"),
        (0, -0.5, True, None),
    ],
)
def test_a_jump_is_said(
    caplog: pytest.LogCaptureFixture, slept_s: float, jumped_s: float, back: bool, line: str | None
) -> None:
    clock, jumps = HandClock(), Jumps()
    assert jumps.went_back(clock)
    clock.later(slept_s)
    clock.jumps(jumped_s)

    assert jumps.went_back(clock) is back
    assert caplog.messages == ([line] if line else [])
    clock.later(30)
    assert not jumps.went_back(clock)
