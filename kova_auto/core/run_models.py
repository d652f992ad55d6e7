"""What the facts about the model add to a run."""

from __future__ import annotations

from typing import assert_never

from kova_auto.core.call_state import CallState
from kova_auto.core.event import (
    CompactionFailed,
    ContextAssembled,
    ContextCompacted,
    ModelCallFailed,
    ModelCallStarted,
    ModelReplied,
)
from kova_auto.core.fault import BUSY
from kova_auto.core.message import Usage
from kova_auto.core.run_children import with_told
from kova_auto.core.state import RunState, Spent, refused, replace
from kova_auto.core.wording import newest

AboutModel = ContextAssembled | ModelCallStarted | ModelReplied | ModelCallFailed


def about_model(state: RunState, event: AboutModel) -> RunState:
    """Return the state after a fact about its model; raise IllegalEventError where it cannot follow."""
    match event:
        case ContextAssembled():
            if state.context:
                raise refused(state, event, "its context is assembled")
            seen, tainted_by = {**state.seen, **event.reads}, state.tainted_by or event.taints
            return replace(state, context=event, seen=seen, tainted_by=tainted_by)
        case ModelCallStarted():
            if state.calling or state.unsettled or state.compacting or state.checking:
                raise refused(state, event, "a call is open")
            return _asking(state, event)
        case ModelReplied():
            return _replied(state, event)
        case ModelCallFailed():
            if not state.calling:
                raise refused(state, event, "no model call is open")
            return _failed(state, event)
        case _:
            assert_never(event)


def _asking(state: RunState, event: ModelCallStarted) -> RunState:
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
        repaired=state.repaired | {event.repairs} if event.repairs else state.repaired,
        children=with_told(state.children, event.reports) if event.reports else state.children,
        tainted_by=state.tainted_by or _told_taint(state, event),
    )


def _told_taint(state: RunState, event: ModelCallStarted) -> str:
    """Return the untrusted text behind the reports that the model is given; empty where there is none."""
    told = (state.children[call_id].finished for call_id in event.reports if call_id in state.children)
    return next((ended.tainted_by for ended in told if ended and ended.tainted_by), "")


def _failed(state: RunState, event: ModelCallFailed) -> RunState:
    busy = event.fault in BUSY
    spent = with_spent(state, event, event.usage, state.asked) if event.usage else state
    return replace(
        spent,
        calling=None,
        counted_seq=0,  # By the time that it is asked again, others may have used what was left.
        failure=event,
        failures=state.failures + 1,
        failed={**state.failed, busy: state.failed.get(busy, 0) + 1},
        wordings=newest(state.wordings, state.asked, event.sent),
    )


def with_spent(
    state: RunState,
    event: ModelReplied | ModelCallFailed | CompactionFailed | ContextCompacted,
    usage: Usage,
    model: str,
) -> RunState:
    """Return the state with what a call of a model has used."""
    used = Spent(
        seq=state.seq + 1,
        at=event.at,
        attempt=state.attempt,
        iteration=event.iteration,
        model=model,
        usage=usage,
        failed=isinstance(event, ModelCallFailed | CompactionFailed),
    )
    return replace(state, spent=(*state.spent, used), usage=state.usage.plus(usage))


def _replied(state: RunState, event: ModelReplied) -> RunState:
    if not state.calling:
        raise refused(state, event, "no model call is open")
    if event.iteration != state.iteration + 1:
        raise refused(state, event, f"iteration {event.iteration} does not follow {state.iteration}")
    added = {call.id: CallState(call) for call in event.calls}
    if len(added) < len(event.calls) or added.keys() & state.calls.keys():
        raise refused(state, event, "two calls have one id")
    return replace(
        with_spent(state, event, event.reply.usage, state.asked),
        calling=None,
        failures=0,
        failure=None,
        replies=(*state.replies, event),
        calls={**state.calls, **added},
        open_calls=tuple(added),
        wordings=newest(state.wordings, state.asked, event.sent),
    )
