"""Say what a run of a family sets aside of the ceilings that all of it share, so that none takes what another needs.

While its model is asked that is all that the request may cost; at other times, the least that the next one will. What
was used is in its usage: nothing counts twice.
"""

from __future__ import annotations

from typing import NamedTuple

from kova_auto.core.budget import LARGEST_REPLY, SMALLEST_REPLY
from kova_auto.core.estimate import next_input, next_uncached
from kova_auto.core.pin import ModelPin
from kova_auto.core.price import most_usd
from kova_auto.core.state import RunState


class Reserved(NamedTuple):
    """Hold what is set aside: tokens that count against `limits.tokens`, and USD as far as prices are known."""

    tokens: int = 0
    usd: float = 0.0


def reserved(state: RunState) -> Reserved:
    """Return what a run sets aside; nothing where it has no family yet, or asks its model no more."""
    if state.family is None or state.finished or state.stop:
        return Reserved()
    at_work = state.calling or state.compacting
    pin = _pin(state, at_work.model) if at_work else state.pin
    reply = (at_work.max_output_tokens or LARGEST_REPLY) if at_work else SMALLEST_REPLY
    usd = most_usd(pin.price, next_input(state), reply) if pin.price else 0.0
    return Reserved(next_uncached(state, pin.name) + reply, usd)


def _pin(state: RunState, name: str) -> ModelPin:
    return next((pin for pin in state.request.pins if pin.name == name), state.pin)
