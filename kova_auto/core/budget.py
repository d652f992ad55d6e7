"""What one more call of the model may cost, decided before it is made: no ceiling is passed and noticed afterwards.

A reply is bounded to what is left, and where what is left is too little for one, the run ends with what it has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kova_auto.core.estimate import next_input, next_uncached
from kova_auto.core.job import Outcome
from kova_auto.core.limits import Reached
from kova_auto.core.pin import Capability, ModelPin
from kova_auto.core.price import affordable_tokens
from kova_auto.core.state import RunState

SMALLEST_REPLY: Final = 512
"""Tokens; a reply that may not even have these is not asked for."""
LARGEST_REPLY: Final = 32_768
"""Tokens that are asked for at most, where the model could give more."""


@dataclass(frozen=True, slots=True)
class Room:
    """Say that the model may be called; `max_output_tokens` is None where nothing bounds its reply."""

    max_output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Money:
    """Hold what a run may still spend, in USD, and which ceiling says so."""

    left: float
    key: str
    limit: float


def next_call(state: RunState, pin: ModelPin, besides: int = 0) -> Room | Reached:
    """Return what room there is for a reply of this model, or the ceiling that forbids to ask for it.

    Args:
        state: Of the run.
        pin: The model.
        besides: Tokens that it is told in this one request alone.
    """
    limits = state.job.limits
    if len(state.replies) - state.first_reply >= limits.iterations:
        return _over(f"limits.iterations = {limits.iterations} is reached")
    used = tokens_used(state)
    if used >= limits.tokens:
        return _over(f"{used} tokens were used (limits.tokens = {limits.tokens})")
    others = state.family.reserved_tokens if state.family else 0
    left = limits.tokens - used - others - next_uncached(state, pin.name) - besides
    if left < SMALLEST_REPLY:
        needs = f", {others} are set aside for the rest of its family" if others else ""
        return _over(f"{used} tokens were used{needs}, and the next call would pass limits.tokens = {limits.tokens}")
    share = _share(state, left)
    bounds = [share] if share < LARGEST_REPLY else []
    match _affordable(state, pin, besides):
        case Reached() as reached:
            return reached
        case int(tokens):
            bounds.append(tokens)
        case None:
            pass
    if most := _largest(state, pin.capability):
        bounds.append(most)
    return Room(min(bounds, default=None))


def _largest(state: RunState, known: Capability) -> int | None:
    """Return what a reply is bounded to whatever is left; None where the model might not take a bound like that."""
    if known.max_output:
        return min(known.max_output, LARGEST_REPLY)
    has_room = known.window is not None and known.window - 2 * next_input(state) >= LARGEST_REPLY
    return LARGEST_REPLY if has_room else None


def _over(reason: str) -> Reached:
    return Reached(Outcome.BUDGET_EXCEEDED, reason)


def _affordable(state: RunState, pin: ModelPin, besides: int) -> int | Reached | None:
    """Return how many tokens of a reply the money is good for; None where money does not bound it."""
    money, price = money_left(state), pin.price
    if money.left <= 0:
        return _over(f"{money.limit - money.left:.4f} USD were spent ({money.key} = {money.limit:g})")
    if price is None:
        return None
    others = state.family.reserved_usd if state.family else 0.0
    tokens = affordable_tokens(price, money.left - others, next_input(state) + besides)
    if tokens is None:
        return None
    if tokens < SMALLEST_REPLY:
        needs = f", {others:.4f} of them set aside for the rest of its family" if others else ""
        return _over(
            f"{money.left:.4f} USD are left{needs}, and the next call would pass {money.key} = {money.limit:g}"
        )
    share = _share(state, tokens)
    return share if share < LARGEST_REPLY else None


def tokens_used(state: RunState) -> int:
    """Return what counts against the ceiling in tokens, the other runs of its family included."""
    return sum(spent.usage.counted for spent in state.charged) + (state.family.tokens if state.family else 0)


def _share(state: RunState, left: int) -> int:
    """Return how long a reply may be: what is left above the smallest is shared with those that may ask this moment."""
    return SMALLEST_REPLY + (left - SMALLEST_REPLY) // (max(state.family.members, 1) if state.family else 1)


def money_left(state: RunState) -> Money:
    """Return the tighter of the two ceilings in money; what was spent at an unknown price counts nothing.

    A script costs nothing, whatever its job has spent on that day.
    """
    limits, attempt = state.job.limits, state.charged_usd + (state.family.cost_usd if state.family else 0.0)
    day = attempt + (0.0 if state.request.scripted else state.day_before_usd)
    if limits.cost_usd - attempt <= limits.cost_usd_per_day - day:
        return Money(limits.cost_usd - attempt, "limits.cost_usd", limits.cost_usd)
    return Money(limits.cost_usd_per_day - day, "limits.cost_usd_per_day", limits.cost_usd_per_day)


def used_up(state: RunState, ran_s: float) -> tuple[float, str]:
    """Return how much of its tightest ceiling an attempt has used, 1 being all of it, and what that ceiling is.

    Args:
        state: Of the run.
        ran_s: Its running time, seconds.
    """
    limits = state.job.limits
    replies, money = len(state.replies) - state.first_reply, money_left(state)
    # The last reply that there may be is to be one that knows it, also where four fifths are no whole number.
    iterations = 1.0 if replies == limits.iterations - 1 > 0 else replies / limits.iterations
    return max(
        (ran_s / limits.timeout.total_seconds(), "its running time"),
        (iterations, "the replies it may have"),
        (tokens_used(state) / limits.tokens, "the tokens it may use"),
        (1 - money.left / money.limit, "the money it may spend"),
    )
