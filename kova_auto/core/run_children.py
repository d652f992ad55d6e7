"""What the facts about its children, and about its family, add to a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace as changed
from typing import assert_never

from kova_auto.core.child import ChildState
from kova_auto.core.event import CallFinished, ChildFinished, ChildrenStopped, FamilyCounted
from kova_auto.core.ids import CallId, child_run_id
from kova_auto.core.message import ToolCall
from kova_auto.core.state import RunState, refused, replace

AboutFamily = ChildFinished | ChildrenStopped | FamilyCounted
Children = Mapping[CallId, ChildState]


def about_family(state: RunState, event: AboutFamily) -> RunState:
    """Return the state after a fact about its family; raise IllegalEventError where it cannot follow."""
    match event:
        case ChildFinished():
            return _ended(state, event)
        case ChildrenStopped():
            if unknown := [call_id for call_id in event.call_ids if call_id not in state.children]:
                raise refused(state, event, f"call {unknown[0]} has dispatched no child")
            asked = {call_id: changed(state.children[call_id], asked_to_end=True) for call_id in event.call_ids}
            return replace(state, children={**state.children, **asked})
        case FamilyCounted():
            return replace(state, family=event, counted_seq=state.seq + 1)
        case _:
            assert_never(event)


def _ended(state: RunState, event: ChildFinished) -> RunState:
    child = state.children.get(event.call_id)
    if child is None or child.run_id != event.run_id:
        raise refused(state, event, f"call {event.call_id} has dispatched no run {event.run_id}")
    if child.finished:
        raise refused(state, event, f"child {event.run_id} has finished already")
    return replace(state, children={**state.children, event.call_id: changed(child, finished=event)})


def dispatching(started: RunState, call: ToolCall) -> RunState:
    """Return the state after a call that dispatches a child has begun: it may be there from now on."""
    if call.id in started.children:
        return started  # Cut off before, and made again.
    agent, title = (str(call.args.get(name, "")) for name in ("agent", "description"))
    child = ChildState(call.id, child_run_id(started.run_id, call.id), agent, title, since_s=started.ran_s)
    return replace(started, children={**started.children, call.id: child})


def with_result(children: Children, event: CallFinished) -> Children:
    """Return the children after a call's result: what was not dispatched is none, and what was reported is told."""
    after, result = dict(children), event.result
    known = after.get(event.call_id)
    if known and known.finished is None and result.child is None:
        del after[event.call_id]
    for call_id in result.reports:
        if call_id in after:
            after[call_id] = changed(after[call_id], is_told=True)
    return after


def with_told(children: Children, reports: tuple[CallId, ...]) -> Children:
    """Return the children after the model was given reports."""
    return {key: changed(child, is_told=True) if key in reports else child for key, child in children.items()}
