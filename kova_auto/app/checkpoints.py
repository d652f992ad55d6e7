"""Show and take back what a run wrote, from the contents that its journal keeps, or from a workspace of its own."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from kova_auto.app.control import Applied, Undone
from kova_auto.app.staging import Copies
from kova_auto.core.errors import UnknownRunError
from kova_auto.core.ports import Journal
from kova_auto.core.run import RunState
from kova_auto.tools import checkpoint
from kova_auto.tools.isolation.applying import Plan
from kova_auto.tools.output import printable
from kova_auto.tools.roots import Roots


@dataclass(frozen=True, slots=True)
class RunCheckpoints:
    """Answer from one journal, through the same boundary as the tools."""

    roots: Roots
    journal: Journal
    copies: Copies

    async def diff(self, state: RunState) -> str:
        """Return a unified diff of everything the run wrote; where its own workspace is there, of all that changed."""
        if self.copies.has(state):
            return await self.copies.diff(state)
        return await checkpoint.run_diff(state, self.journal.blob, await self._others(state))

    async def undo(self, state: RunState) -> Undone:
        """Restore every file, or none where one has changed since."""
        done = await checkpoint.undo(self.roots, state, self.journal.blob, await self._others(state))
        return Undone(restored=done.restored, refused=tuple(one.why for one in done.refused))

    async def _others(self, state: RunState) -> list[RunState]:
        """Return the subagents of a run that were opened, and theirs."""
        found: list[RunState] = []
        for child in state.children.values():
            with suppress(UnknownRunError):
                opened = await self.journal.load(child.run_id)
                found += [opened, *await self._others(opened)]
        return found

    async def apply(self, state: RunState, *, control: bool, check: bool) -> Applied:
        """Bring what the run changed in its own workspace into the real one, all of it or nothing."""
        planned = await self.copies.plan(state, control=control)
        if not check and not planned.refused:
            await self.copies.apply(state, planned)
        return _applied(planned)

    async def settle(self, state: RunState) -> str:
        """Remove the workspace of a run whose changes are settled; say which branch stays."""
        return await self.copies.settle(state)


def _applied(planned: Plan) -> Applied:
    files = tuple(printable(change.path) for change in planned.todo)
    return Applied(files=files, same=tuple(map(printable, planned.same)), refused=planned.refused)
