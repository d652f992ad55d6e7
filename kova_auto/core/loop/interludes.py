"""Tell what happens to a run between its iterations: one sentence for each fact that is about none of them."""

from __future__ import annotations

from kova_auto.core.event import (
    ChangesSettled,
    ClockMoved,
    Event,
    RunAcquired,
    StopRequested,
    WorkspaceAwaited,
)
from kova_auto.core.loop.values import Interlude, InterludeKind
from kova_auto.core.state import RunState


def interlude(event: Event, before: RunState) -> Interlude | None:
    """Return what a fact tells of the time between two iterations; None where it tells nothing of it.

    Args:
        event: The fact.
        before: The state that it was written in.
    """
    told = _told(event, before)
    if told is None:
        return None
    kind, text = told
    return Interlude(at=event.at, attempt=before.attempt, before=before.iteration + 1, kind=kind, text=text)


def _told(event: Event, before: RunState) -> tuple[InterludeKind, str] | None:
    match event:
        case RunAcquired(lease_broken=True):
            return (
                InterludeKind.TAKEN_UP,
                f"the process that had the run was lost{_during(before)}; it was taken up again",
            )
        case ClockMoved():
            return (
                InterludeKind.CLOCK,
                f"the clock was set, or the machine slept: {event.ran_s:.1f} s had really gone by",
            )
        case WorkspaceAwaited():
            return (
                InterludeKind.WORKSPACE,
                f"it had to wait for run {event.holder} of {event.job}, which had its workspace",
            )
        case StopRequested():
            because = f": {event.reason}" if event.reason else ""
            return InterludeKind.STOP, f"{event.by} had it ended as {event.outcome.replace('_', ' ')}{because}"
        case ChangesSettled():
            return InterludeKind.CHANGES, f"what it left was {event.how} by {event.by}"
        case _:
            return None


def _during(before: RunState) -> str:
    """Return what was going on when a process was lost; empty where that was nothing in particular."""
    if before.calling:
        return f" while {before.calling.model} was asked"
    call = before.unsettled
    return f" during call {call.call.id} ({call.call.tool})" if call and call.started else ""
