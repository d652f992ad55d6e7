"""How often a model is asked again, when, and who is asked instead.

A wait is an instant on record: no task sleeps through it, and a run that waits is taken up again by whoever is there.
"""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from typing import Final

from kova_auto.core.fault import BUSY, TRANSIENT, Fault
from kova_auto.core.pin import ModelPin
from kova_auto.core.state import RunState

ATTEMPTS: Final = 4
"""Calls of one model for one reply, before another is asked, or nobody."""
BOUNDS_S: Final = (2.0, 8.0, 30.0)
"""Longest wait after the first, second and third failure in a row, seconds; the shortest is half of it."""
PARKS_S: Final = (300.0, 900.0, 2700.0)
"""Waits after the quick attempts, where the provider is too busy and nobody else can be asked, seconds."""
INLINE_S: Final = 60.0
"""Who may ask somebody else waits no longer than this for the one who wants to be asked later, seconds."""
LONGEST_S: Final = 86_400.0
BUDGET: Final = 10
"""Failures of one attempt of a run, counted apart for a provider that is too busy and for all else that may pass."""


def again_at(state: RunState, fault: Fault, asked_s: float | None, now: datetime) -> datetime | None:
    """Return when the same model is asked again after the failure under way; None where it is given up.

    Args:
        state: Before the failure is folded in.
        fault: Its class.
        asked_s: When the provider wants to be asked again, in seconds; None where it says nothing.
        now: UTC.
    """
    if fault not in TRANSIENT or state.failed.get(fault in BUSY, 0) + 1 > BUDGET:
        return None
    wait_s = _wait_s(state, fault, asked_s)
    return None if wait_s is None else now + timedelta(seconds=wait_s)


def _wait_s(state: RunState, fault: Fault, asked_s: float | None) -> float | None:
    others = following(state) is not None
    quick, parked = state.failures < ATTEMPTS - 1, state.failures - (ATTEMPTS - 1)
    if not quick and (others or fault not in BUSY or parked >= len(PARKS_S)):
        return None
    if asked_s is not None and asked_s > (INLINE_S if others else LONGEST_S):
        return None
    chance = jitter(state)
    own_s = BOUNDS_S[state.failures] * (1 + chance) / 2 if quick else PARKS_S[parked] * (1 + chance / 4)
    if asked_s is None:
        return own_s
    return asked_s + chance if quick else max(asked_s, own_s)


def jitter(state: RunState) -> float:
    """Return a fraction of 1 that differs between runs and between failures, and is the same when told again."""
    name = f"{state.run_id} {state.attempt} {state.model_calls}".encode()
    return int.from_bytes(hashlib.sha256(name).digest()[:4]) / 2**32


def following(state: RunState, pin: ModelPin | None = None) -> ModelPin | None:
    """Return the model that is asked when another is given up; None where there is none.

    Args:
        state: Of the run.
        pin: The one that is given up; None for the one that is asked now.
    """
    names, given_up = [pin.name for pin in state.request.pins], (pin or state.pin).name
    if given_up not in names:
        return None
    return next(iter(state.request.pins[names.index(given_up) + 1 :]), None)
