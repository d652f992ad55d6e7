"""Say whether a run that a schedule has opened may still begin: what waits too long for its turn never does.

Whatever it waits for, a slot or its workspace, in this process or the next, `policy.start_deadline` counts from when it
was due.

Source: reference on scheduling, 3.3, "Global limit reached".
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from kova_auto.core.duration import render_duration
from kova_auto.core.event import Origin, RunRequested
from kova_auto.core.state import RunState

TOO_LATE: Final = "missed: it had not begun by its start deadline"
"""How the reason of a run begins that ended because of that."""


def last_start(request: RunRequested) -> datetime | None:
    """Return until when a run may begin; None where it may at any time, as one that somebody asked for.

    What is caught up with came too late anyway: for it the time counts from when its run was opened.
    """
    deadline = request.job.policy.start_deadline
    if deadline is None or request.due_at is None or request.origin is Origin.REQUEST:
        return None
    caught_up = request.at - request.due_at > deadline
    return (request.at if caught_up else request.due_at) + deadline


def missed_start(state: RunState, now: datetime) -> str:
    """Return why a run must not begin, or go on after it began too late; empty where it may."""
    deadline = state.request.job.policy.start_deadline
    if deadline is None or state.attempt > 1:
        return ""
    last_at = last_start(state.request)
    if last_at is None or (state.started_at or now) <= last_at:
        return ""
    return f"{TOO_LATE} (policy.start_deadline = {render_duration(deadline)})"
