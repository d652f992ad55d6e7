"""Say which runs may change a workspace in place, and let them do so one at a time.

Such a run has its workspace from its first step to its end, also while it waits for a person or its worker is dead:
that is folded from its facts, like everything else. Whoever takes a run looks for a rival in the same transaction.
"""

from __future__ import annotations

from collections.abc import Iterable

from kova_auto.core.approval.levels import AutomationLevel, Mode
from kova_auto.core.ids import JobName, RunId
from kova_auto.core.job import Job
from kova_auto.core.state import RunState
from kova_auto.core.value import Value

BUSY = "workspace busy"


class Hold(Value):
    """Say which run has a workspace to itself."""

    run_id: RunId
    job: JobName
    workspace: str


def may_write(mode: str, level: str) -> bool:
    """Say whether runs of a mode and a level may change their workspace; by a person's leave counts too."""
    return level != AutomationLevel.READ_ONLY and mode in {Mode.AGENT, Mode.GOAL}


def wants_workspace(state: RunState) -> bool:
    """Say whether a run must have its workspace to itself before it begins: not one that only is to be ended."""
    return workspace_wanted(state) != "" and not (state.holds or state.finished or state.stop or state.request.blocked)


def workspace_wanted(state: RunState) -> str:
    """Return the workspace that a run may change in place; empty where it changes none, or works in its own."""
    request, job = state.request, state.job
    if request.child_of:
        return ""  # Its parent has it, or changes nothing there either.
    in_place = request.workspace == job.workspace and job.isolation == "in-place"
    return request.workspace if in_place and may_write(state.heading_for, request.level or job.automation) else ""


def workspace_held(state: RunState) -> str:
    """Return the workspace that a run has to itself; empty where it has none."""
    return workspace_wanted(state) if state.holds else ""


def no_wait(state: RunState, holder: RunId) -> str:
    """Return why a run cannot begin to wait for another; empty where it can."""
    if not wants_workspace(state) or holder == state.run_id:
        return "it waits for no workspace"
    return f"it waits for {holder} already" if state.awaited and state.awaited.holder == holder else ""


def unsettleable(state: RunState) -> str:
    """Return why nothing can be decided about what a run left in a copy or a worktree; empty where it can."""
    if state.settled:
        return f"its changes were {state.settled.how} by {state.settled.by} already"
    return "" if state.finished and state.finished.kept else "it has left no changes"


def overlap(one: str, other: str) -> bool:
    """Say whether two directories, canonical, are the same or one of them lies in the other."""
    first, second = one.rstrip("/") + "/", other.rstrip("/") + "/"
    return first.startswith(second) or second.startswith(first)


def rival(holds: Iterable[Hold], workspace: str, run_id: RunId | None = None) -> Hold | None:
    """Return who has a workspace, or one that overlaps it, besides the run that asks; the first by id."""
    others = (hold for hold in holds if hold.run_id != run_id and overlap(hold.workspace, workspace))
    return min(others, key=lambda hold: hold.run_id, default=None)


def said_busy(holds: Iterable[Hold], job: Job) -> str:
    """Return whose run has the workspace that the job's next unattended run would change; empty where none has.

    Runs of the job itself do not count: what becomes of those is the overlap rule's business.
    """
    if job.isolation != "in-place" or not may_write(job.mode, job.automation):
        return ""
    found = rival((hold for hold in holds if hold.job != job.name), job.workspace)
    return f"{BUSY}: {found.run_id} of {found.job}" if found else ""
