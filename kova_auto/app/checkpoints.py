"""Show and take back what a run wrote, from the contents that its journal keeps."""

from __future__ import annotations

from dataclasses import dataclass

from kova_auto.app.control import Undone
from kova_auto.core.ports import Journal
from kova_auto.core.run import RunState
from kova_auto.tools import checkpoint
from kova_auto.tools.roots import Roots


@dataclass(frozen=True, slots=True)
class RunCheckpoints:
    """Answer from one journal, through the same boundary as the tools."""

    roots: Roots
    journal: Journal

    async def diff(self, state: RunState) -> str:
        """Return a unified diff of everything the run wrote."""
        return await checkpoint.run_diff(state, self.journal.blob)

    async def undo(self, state: RunState) -> Undone:
        """Restore every file, or none where one has changed since."""
        done = await checkpoint.undo(self.roots, state, self.journal.blob)
        return Undone(restored=done.restored, refused=tuple(one.why for one in done.refused))
