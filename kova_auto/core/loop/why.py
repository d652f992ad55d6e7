"""Say why a run has stopped, or what it is doing or waiting for."""

from __future__ import annotations

from typing import Final

from kova_auto.core.children.waiting import running
from kova_auto.core.delivery.document import count
from kova_auto.core.job import Outcome
from kova_auto.core.retrying import said_ended
from kova_auto.core.state import Execution, RunState
from kova_auto.core.tool_names import TASK_WAIT

_ENDS: Final = {
    Outcome.DONE: "the model asked for nothing more and gave its answer",
    Outcome.NOTHING_TO_REPORT: "the model found nothing to report",
}


def why_it_stopped(state: RunState) -> str:
    """Return why a run has stopped, or what it is doing or waiting for, as a sentence."""
    if state.finished:
        return state.finished.reason or _ENDS.get(state.finished.outcome, f"it ended as {state.finished.outcome}")
    if state.stop:
        return f"it is being ended as {state.stop.outcome}: {state.stop.reason}"
    for call_id in state.open_calls:
        if state.calls[call_id].awaits_person:
            return f"it waits for a person: call {call_id} ({state.calls[call_id].call.tool})"
    if _waits_for_children(state):
        left = [f"{child.agent} ({child.run_id})" for child in running(state)]
        return f"it waits for {count(len(left), 'subagent')}: {', '.join(left)}"
    if state.awaited:
        return f"it waits for run {state.awaited.holder} of {state.awaited.job}, which has its workspace to itself"
    if state.not_before and state.started_at is None:
        because = said_ended(state.retried[-1]) if state.retried else ""
        why = f", because {because}" if because else ""
        return f"attempt {state.attempt} begins at {state.not_before:%Y-%m-%d %H:%M:%S} UTC{why}"
    if state.failure and state.failure.retry_at and not state.calling:
        at, why = state.failure.retry_at, state.failure.message
        return f"it asks the model again at {at:%Y-%m-%d %H:%M:%S} UTC, because {why}"
    if state.unsummed and (retry_at := state.unsummed[-1].retry_at) and not state.compacting:
        why = state.unsummed[-1].message
        return f"it asks for a summary of older iterations again at {retry_at:%Y-%m-%d %H:%M:%S} UTC, because {why}"
    return "it has not begun" if state.execution is Execution.QUEUED else "it goes on"


def _waits_for_children(state: RunState) -> bool:
    if not running(state) or state.calling:
        return False
    if call := state.unsettled:
        return call.call.tool == TASK_WAIT and call.verdict is not None and call.started is None
    return bool(state.replies) and not state.replies[-1].calls
