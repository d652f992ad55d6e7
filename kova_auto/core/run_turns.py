"""What the facts about a turn as a whole add to a run: what was folded, the mode it goes on in, what was checked."""

from __future__ import annotations

from typing import assert_never

from kova_auto.core.event import (
    ChecksFinished,
    ChecksStarted,
    CompactionFailed,
    CompactionStarted,
    ContextCompacted,
    ModeEntered,
)
from kova_auto.core.fault import Fault
from kova_auto.core.run_models import with_spent
from kova_auto.core.state import RunState, refused, replace
from kova_auto.core.wording import newest

AboutTurn = CompactionStarted | CompactionFailed | ContextCompacted | ModeEntered | ChecksStarted | ChecksFinished


def about_turn(state: RunState, event: AboutTurn) -> RunState:
    """Return the state after a fact about its turn; raise IllegalEventError where it cannot follow."""
    if state.context is None:
        raise refused(state, event, "its context is not assembled")
    if state.calling:
        raise refused(state, event, "a model call is open")
    match event:
        case CompactionStarted():
            if state.compacting or state.unsettled:
                raise refused(state, event, "a call is open")
            return _summing(state, event)
        case CompactionFailed():
            return _unsummed(state, event)
        case ContextCompacted():
            return _compacted(state, event)
        case ModeEntered():
            return _entered(state, event)
        case ChecksStarted() | ChecksFinished():
            return _checked(state, event)
        case _:
            assert_never(event)


def _summing(state: RunState, event: CompactionStarted) -> RunState:
    takes_over = state.asked not in ("", event.model)
    return replace(
        state,
        compacting=event,
        asked=event.model,
        failures=0 if takes_over else state.failures,
        failure=None if takes_over else state.failure,
        model_calls=state.model_calls + 1,
    )


def _unsummed(state: RunState, event: CompactionFailed) -> RunState:
    if state.compacting is None:
        raise refused(state, event, "no summary is being asked for")
    after = with_spent(state, event, event.usage, state.compacting.model) if event.usage else state
    wordings = newest(state.wordings, state.compacting.model, event.sent)
    unsummed = (*state.unsummed, event)
    return replace(after, compacting=None, counted_seq=0, unsummed=unsummed, wordings=wordings)


def _compacted(state: RunState, event: ContextCompacted) -> RunState:
    first = state.compactions[-1].through if state.compactions else state.first_reply
    if event.iteration != state.iteration or not first <= event.through <= state.iteration:
        raise refused(state, event, f"what it folds does not fit {state.iteration} replies, {first} of them folded")
    if state.unsettled:
        raise refused(state, event, "a call is open")
    if event.model and state.compacting is None:
        raise refused(state, event, "no summary was asked for")
    after = with_spent(state, event, event.usage, event.model) if event.usage else state
    overflowed = state.failure is not None and state.failure.fault is Fault.OVERFLOW
    return replace(
        after,
        compacting=None,
        compactions=(*state.compactions, event),
        unsummed=(),
        failure=None if overflowed else state.failure,  # Any other is met by another model, not by a smaller request.
        wordings=newest(state.wordings, event.model, event.sent),
    )


def _entered(state: RunState, event: ModeEntered) -> RunState:
    call = state.call(event.call_id)
    if state.context is None or call.result is None or call.result.enters != event.mode:
        raise refused(state, event, f"call {event.call_id} lets it into no such mode")
    if state.mode is event.mode:
        raise refused(state, event, f"it is in mode {state.mode} already")
    context = state.context.model_copy(update={"tools": event.tools})
    return replace(state, entered=event, context=context)


def _checked(state: RunState, event: ChecksStarted | ChecksFinished) -> RunState:
    if event.iteration != state.iteration or state.unsettled:
        raise refused(state, event, "there is no answer to check")
    if isinstance(event, ChecksStarted):
        return replace(state, checking=event)
    if state.checking is None:
        raise refused(state, event, "nothing is being checked")
    return replace(state, checking=None, checked=event)
