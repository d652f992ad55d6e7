"""Know what a run in a git worktree does not find, because nobody has committed it: skills and subagents."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from kova_auto.app.staging import WORKTREE
from kova_auto.core.context.briefing import Briefing
from kova_auto.core.job import Job
from kova_auto.core.skills.precedence import Shelf
from kova_auto.core.skills.skill import Layer
from kova_auto.core.subagents.definition import Layer as AgentLayer
from kova_auto.core.subagents.roster import Roster
from kova_auto.tools.git import repository_of, tracked_in

REMEDY: Final = 'commit it, or say isolation = "copy"'
_WHY: Final = "is not committed, and a worktree holds only what is"


def uncommitted_skills(job: Job, shelf: Shelf) -> str:
    """Return why a job's runs would lack skills that it names, for all that these lie in its workspace; else nothing.

    Args:
        job: What is not there at all is somebody else's to name.
        shelf: Of its workspace.
    """
    if job.isolation != WORKTREE:
        return ""
    everything = [*shelf.skills, *(skill for skill, _ in shelf.shadowed)]
    untracked = set(_untracked(job, (one.file.path for one in everything if one.file.layer is Layer.WORKSPACE)))
    named = [[one for one in everything if one.name == name] for name in dict.fromkeys(job.context.skills or ())]
    lacking = [alike[0] for alike in named if alike and all(one.file.path in untracked for one in alike)]
    return _said(f"{one.name}: {one.file.path}" for one in lacking)


def uncommitted_agents(job: Job, roster: Roster) -> str:
    """Return why a job's runs would lack subagents that it allows, for all that the workspace defines them."""
    if job.isolation != WORKTREE:
        return ""
    of_workspace = [one.agent for one in roster.available if one.agent.layer is AgentLayer.WORKSPACE]
    files = {agent.path: agent.name for agent in of_workspace}
    return _said(f"{files[path]}: {path}" for path in _untracked(job, files))


def explained(brief: Briefing, job: Job, there: Sequence[str]) -> Briefing:
    """Return what a run in a worktree is shown: where it lacks what lies in the job's own workspace, it says why."""
    if not (brief.lacks and there and job.isolation == WORKTREE):
        return brief
    what = f"what {job.workspace} has of {', '.join(there)} {_WHY}: {REMEDY}"
    return replace(brief, lacks=f"{brief.lacks}; {what}")


def _said(lacking: Iterable[str]) -> str:
    return "; ".join(f"{one} {_WHY}" for one in lacking)


def _untracked(job: Job, files: Iterable[str]) -> Iterator[str]:
    """Yield the files that git does not track; none where the workspace lies in no repository."""
    top = repository_of(Path(job.workspace))
    if top is None:
        return
    tracked = tracked_in(top).files
    for file in files:
        if Path(file).is_relative_to(top) and os.fsencode(Path(file).relative_to(top)) not in tracked:
            yield file
