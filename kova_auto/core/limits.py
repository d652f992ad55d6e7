"""The ceilings of a run: which of them is reached, and how much time is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from kova_auto.core.duration import render_duration
from kova_auto.core.job import Outcome
from kova_auto.core.mcp.names import is_call_of
from kova_auto.core.message import ResultStatus, ToolCall
from kova_auto.core.run import Execution, RunState

SAME_REFUSED = 3
"""So often may one call, with the same arguments, be refused before the run ends."""


@dataclass(frozen=True, slots=True)
class Reached:
    """Say which ceiling ends the run, and as what."""

    outcome: Outcome
    reason: str


def running_s(state: RunState, now: datetime) -> float:
    """Return how long this attempt has run, in seconds, the stretch since its last fact included.

    Waiting for a person, or for the instant at which the model may be asked again, is not running. Nor is making what
    it works in, once that is made: until then it is all there is, and may take as long as the rest.

    Source: complaint T94.
    """
    ran_s = state.ran_s - state.set_up_s
    since = state.last_at
    if since is None or (state.open_calls and state.execution is Execution.SUSPENDED):
        return ran_s
    if state.failure and state.failure.retry_at and not state.calling:
        since = max(since, state.failure.retry_at)
    if state.unsummed and state.unsummed[-1].retry_at and not state.compacting:
        since = max(since, state.unsummed[-1].retry_at)
    for call_id in state.open_calls:
        call = state.calls[call_id]
        if call.decision and not call.result:
            since = max(since, call.decision.at)
    return ran_s + max((now - since).total_seconds(), 0.0)


def left_s(state: RunState, now: datetime) -> float:
    """Return how many seconds this attempt may still run; 0 at the ceiling, never below."""
    return max(state.job.limits.timeout.total_seconds() - running_s(state, now), 0.0)


def always(state: RunState, now: datetime) -> Reached | None:
    """Return the ceiling that ends the run whatever it is about to do, if one is reached."""
    limits = state.job.limits
    if left_s(state, now) <= 0:
        return Reached(Outcome.TIMED_OUT, f"its limit of {render_duration(limits.timeout)} running time is reached")
    if state.denials >= limits.denials:
        return Reached(Outcome.BLOCKED, f"{state.denials} calls were refused (limits.denials = {limits.denials})")
    if state.refused and (most := max(state.refused.values())) >= SAME_REFUSED:
        return Reached(Outcome.BLOCKED, f"the same call was refused {most} times")
    return _without_required(state) if limits.required_tools and state.denials else None


def _without_required(state: RunState) -> Reached | None:
    """Return the end of a run that was refused what its job cannot do without."""
    required = state.job.limits.required_tools
    for reply in state.replies[state.first_reply :]:
        for call in (state.calls[call.id] for call in reply.calls):
            if call.result and call.result.status is ResultStatus.DENIED and (name := _named(required, call.call)):
                return Reached(Outcome.BLOCKED, f"a call of {name} was refused (limits.required_tools)")
    return None


def _named(required: Sequence[str], call: ToolCall) -> str:
    """Return by which of these names a call is required; empty where it is not."""
    return next((name for name in required if call.tool == name or is_call_of(name, call.tool, call.args)), "")
