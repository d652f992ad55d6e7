"""The facts about where a run works: that it waits for its workspace, and what became of what it left in its own."""

from __future__ import annotations

from typing import Literal

from kova_auto.core.fact import Fact
from kova_auto.core.ids import RunId


class WorkspaceAwaited(Fact):
    """Say that a run rests for as long as another has its workspace, or one that overlaps it.

    Attributes:
        holder: The run that has it.
        job: Of the holder.
    """

    kind: Literal["workspace_awaited"] = "workspace_awaited"
    holder: RunId
    job: str


class ChangesSettled(Fact):
    """Say what became of the changes that a finished run left in a copy or a worktree of its own.

    Attributes:
        how: They were brought into the workspace, or thrown away.
        files: What was changed in the workspace, relative to it.
    """

    kind: Literal["changes_settled"] = "changes_settled"
    how: Literal["applied", "discarded"]
    by: str
    files: tuple[str, ...] = ()
