"""What the facts about the model add to a run."""

from __future__ import annotations

from kova_auto.core.event import ModelCallFailed, ModelCallStarted, ModelReplied
from kova_auto.core.fault import BUSY
from kova_auto.core.message import Usage
from kova_auto.core.state import CallState, RunState, Spent, refused, replace


def asking_model(state: RunState, event: ModelCallStarted) -> RunState:
    """Return the state in which a model is being asked."""
    takes_over = state.asked not in ("", event.model)
    asides = {**state.asides, event.iteration: event.asides} if event.asides else state.asides
    return replace(
        state,
        calling=event,
        asked=event.model,
        failures=0 if takes_over else state.failures,
        failure=None if takes_over else state.failure,  # It was another's: should this call be lost, it is made again.
        asides=asides,
        hurried=state.hurried or event.hurries,
        model_calls=state.model_calls + 1,
    )


def model_failed(state: RunState, event: ModelCallFailed) -> RunState:
    """Return the state after a call that gave no reply."""
    busy = event.fault in BUSY
    spent = _with_spent(state, event, event.usage) if event.usage else state
    return replace(
        spent,
        calling=None,
        failure=event,
        failures=state.failures + 1,
        failed={**state.failed, busy: state.failed.get(busy, 0) + 1},
    )


def _with_spent(state: RunState, event: ModelReplied | ModelCallFailed, usage: Usage) -> RunState:
    used = Spent(
        seq=state.seq + 1,
        at=event.at,
        attempt=state.attempt,
        iteration=event.iteration,
        model=state.asked,
        usage=usage,
        failed=isinstance(event, ModelCallFailed),
    )
    return replace(state, spent=(*state.spent, used), usage=state.usage.plus(usage))


def model_replied(state: RunState, event: ModelReplied) -> RunState:
    """Return the state with one more reply; raise IllegalEventError where it cannot follow."""
    if not state.calling:
        raise refused(state, event, "no model call is open")
    if event.iteration != state.iteration + 1:
        raise refused(state, event, f"iteration {event.iteration} does not follow {state.iteration}")
    added = {call.id: CallState(call) for call in event.calls}
    if len(added) < len(event.calls) or added.keys() & state.calls.keys():
        raise refused(state, event, "two calls have one id")
    return replace(
        _with_spent(state, event, event.reply.usage),
        calling=None,
        failures=0,
        failure=None,
        replies=(*state.replies, event),
        calls={**state.calls, **added},
        open_calls=tuple(added),
    )
