"""Choose how a model is asked next: which of the chain, when, with what room, and whether older iterations go first."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from kova_auto.core import budget, limits
from kova_auto.core.answer import last_text
from kova_auto.core.approval.levels import Mode
from kova_auto.core.context.compaction import INSTRUCTION, is_in_vain, next_compaction, overfull, what_fills
from kova_auto.core.event import ModelCallFailed
from kova_auto.core.fault import Fault
from kova_auto.core.goal.ending import without_a_word
from kova_auto.core.job import Outcome
from kova_auto.core.patience import following
from kova_auto.core.pin import ModelPin
from kova_auto.core.run import RunState
from kova_auto.core.steps import AwaitUntil, CallModel, Compact, CountFamily, Finish, Step

IN_VAIN = "compaction_ineffective: two compactions in a row made the requests hardly smaller: {fills}"


def next_request(state: RunState, now: datetime) -> Step:
    """Return what asks a model, or what comes before, or instead."""
    failure, pin = state.failure, state.pin
    if failure and failure.fault is Fault.OVERFLOW and (step := _compacting(state, pin, now)):
        return step
    if failure and not failure.retryable:
        other = following(state)
        if other is None:
            return _failed(state, failure)
        pin = other
    elif failure and failure.retry_at and now < failure.retry_at:
        return AwaitUntil(failure.retry_at)
    while why := overfull(state, pin):
        larger = following(state, pin)
        if larger is None:
            outcome = Outcome.FAILED if _has_replied(state) else Outcome.BLOCKED
            return Finish(outcome, last_text(state), why, partial=_has_replied(state))
        pin = larger
    if step := _compacting(state, pin, now):
        return step
    if is_uncounted(state):
        return CountFamily()
    room = budget.next_call(state, pin)
    if isinstance(room, limits.Reached):
        return _at_ceiling(state, room)
    return CallModel(state.iteration + 1, pin.name, room.max_output_tokens)


def _compacting(state: RunState, pin: ModelPin, now: datetime) -> Step | None:
    """Return what folds older iterations, or why that is not done now; None where there is nothing to fold."""
    step = next_compaction(state, pin)
    if step is None:
        return None
    if is_in_vain(state):
        return Finish(Outcome.FAILED, last_text(state), IN_VAIN.format(fills=what_fills(state, pin)), partial=True)
    if state.unsummed and (retry_at := state.unsummed[-1].retry_at) and now < retry_at:
        return AwaitUntil(retry_at)
    return _within_budget(state, step) if step.model else step


def is_uncounted(state: RunState) -> bool:
    """Say whether what the rest of a run's family has used is to be counted before a model is asked."""
    if not (state.request.child_of or state.children):
        return False
    newest = state.spent[-1].seq if state.spent else 0
    return state.counted_seq <= newest or state.counted_seq == 0


def _within_budget(state: RunState, step: Compact) -> Step:
    if is_uncounted(state):
        return CountFamily()
    pin = next((pin for pin in state.request.pins if pin.name == step.model), state.pin)
    room = budget.next_call(state, pin, INSTRUCTION)
    if isinstance(room, limits.Reached):
        return _at_ceiling(state, room)
    bounds = [most for most in (step.max_output_tokens, room.max_output_tokens) if most is not None]
    return replace(step, max_output_tokens=min(bounds, default=None))


def _at_ceiling(state: RunState, room: limits.Reached) -> Finish:
    """Return the end of a run that may not ask its model again; a goal that it has reached is reached all the same."""
    if state.mode is Mode.GOAL and (end := without_a_word(state)):
        return end
    return Finish(room.outcome, last_text(state), room.reason, partial=True)


def _failed(state: RunState, failure: ModelCallFailed) -> Finish:
    fills = f" ({what_fills(state, state.pin)})" if failure.fault is Fault.OVERFLOW else ""
    reason = f"{failure.error}: {failure.message}{fills}"
    return Finish(Outcome.FAILED, last_text(state), reason, partial=_has_replied(state), fault=failure.fault)


def _has_replied(state: RunState) -> bool:
    return len(state.replies) > state.first_reply
