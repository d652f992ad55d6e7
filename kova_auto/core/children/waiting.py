"""Say what a run waits for of its children, and until when; pure."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from kova_auto.core.call_state import CallState
from kova_auto.core.child import ChildState
from kova_auto.core.state import RunState
from kova_auto.core.steps import AwaitChildren, Finish, StopChildren

WAIT_S: Final = 300
LONGEST_S: Final = 3600
ANY: Final = "any"


def running(state: RunState) -> tuple[ChildState, ...]:
    """Return the children that have not finished, oldest first."""
    return tuple(child for child in state.children.values() if child.finished is None)


def untold(state: RunState) -> tuple[ChildState, ...]:
    """Return the children that have finished and whose reports the model has not been given, oldest first."""
    return tuple(child for child in state.children.values() if child.finished and not child.is_told)


def named(state: RunState, call: CallState) -> tuple[ChildState, ...]:
    """Return the children that a waiting call is about: those that it names, or all that it has not been told of."""
    asked = call.call.args.get("tasks")
    if isinstance(asked, list) and asked:
        return tuple(child for child in state.children.values() if child.run_id in asked or child.call_id in asked)
    return tuple(child for child in state.children.values() if not child.is_told)


def wanted(call: CallState, children: tuple[ChildState, ...]) -> int:
    """Return how many of the children a waiting call wants to have finished."""
    args = call.call.args
    at_least = args.get("at_least")
    if isinstance(at_least, int) and not isinstance(at_least, bool):
        return min(at_least, len(children))
    return min(1, len(children)) if args.get("mode") == ANY else len(children)


def until(call: CallState) -> datetime | None:
    """Return when a waiting call gives up; None where it was not judged yet."""
    asked = call.call.args.get("timeout_s", WAIT_S)
    seconds = asked if isinstance(asked, int | float) and not isinstance(asked, bool) else WAIT_S
    return call.judged_at + timedelta(seconds=min(max(seconds, 0), LONGEST_S)) if call.judged_at else None


def waits(state: RunState, call: CallState, now: datetime) -> AwaitChildren | None:
    """Return that a call goes on waiting; None where what it waits for is there, or it gives up."""
    children, deadline = named(state, call), until(call)
    if sum(child.finished is not None for child in children) >= wanted(call, children):
        return None
    return None if deadline is None or now >= deadline else AwaitChildren(deadline)


def before_end(state: RunState, end: Finish) -> StopChildren | AwaitChildren | None:
    """Return what comes before a run may end: that its children have; None where that is so."""
    left = running(state)
    if unasked := tuple(child.call_id for child in left if not child.asked_to_end):
        return StopChildren(unasked, end.reason or f"its parent ends as {end.outcome.replace('_', ' ')}")
    return AwaitChildren() if left else None
