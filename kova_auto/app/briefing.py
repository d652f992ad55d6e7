"""Gather what a run is shown besides its prompt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from kova_auto.core.context.briefing import Briefing
from kova_auto.core.context.instructions import Instructions, instructed
from kova_auto.core.ids import RunId
from kova_auto.core.run import RunState
from kova_auto.knowledge.instructions import own_instructions
from kova_auto.threads import aside
from kova_auto.tools.instructions import workspace_instructions
from kova_auto.tools.roots import Ground, Roots


@dataclass(frozen=True, slots=True)
class Briefings:
    """Read what a job's run is shown; nothing is changed.

    Attributes:
        roots: The boundary.
        home: Of the user, canonical.
        redact: Takes the secrets that are known out of text, before any of it is cut.
    """

    roots: Roots
    home: Path
    redact: Callable[[str], str]

    async def of(self, state: RunState) -> Briefing:
        """Return what a run is shown besides its prompt, as everything is now."""
        return await aside(lambda: self._read(state))

    def _read(self, state: RunState) -> Briefing:
        # Roots of its own: those of the run's calls may be in use, or not wanted for a long while.
        ground = replace(Ground.of_run(state), run_id=RunId(f"{state.run_id}/briefing"))
        try:
            return self._instructions(ground)
        finally:
            self.roots.release(ground.run_id)

    def _instructions(self, ground: Ground) -> Briefing:
        found = (own_instructions(self.home), workspace_instructions(self.roots, ground))
        return instructed(self._clean(file) for file in found if file)

    def _clean(self, file: Instructions) -> Instructions:
        return replace(file, text=self.redact(file.text), problem=self.redact(file.problem))
