"""Gather what a run is shown besides its prompt: memory, earlier reports, AGENTS.md, skills, and files."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Final

from kova_auto.app.committed import explained
from kova_auto.app.mcp import McpServers
from kova_auto.app.past import Past
from kova_auto.app.skills import Skills
from kova_auto.app.staging import is_apart
from kova_auto.core.approval.adjudicate import adjudicate
from kova_auto.core.approval.facts import CallFacts, PathFact, Zone
from kova_auto.core.approval.levels import Effect, Ruling
from kova_auto.core.approval.policy import Policy
from kova_auto.core.context.attachments import MOST_IMAGES
from kova_auto.core.context.briefing import NOTHING, Briefing
from kova_auto.core.context.history import carried_over
from kova_auto.core.context.instructions import NAMES, Instructions, instructed
from kova_auto.core.context.memory import BENEATH, Layer, Note
from kova_auto.core.context.mentions import mentions
from kova_auto.core.context.recall import recalled, recounted
from kova_auto.core.errors import UnknownRunError
from kova_auto.core.ids import CallId, RunId
from kova_auto.core.job import Job
from kova_auto.core.mcp.passage import passage
from kova_auto.core.message import ImagePart, ToolCall
from kova_auto.core.policy import policy_of_run
from kova_auto.core.run import RunState
from kova_auto.core.skill_facts import USE_SKILL
from kova_auto.core.skills.skill import FOLDERS
from kova_auto.core.subagents.introducing import introduced
from kova_auto.core.subagents.roster import Roster
from kova_auto.engine.conversation import conversation
from kova_auto.engine.scene import rests_of
from kova_auto.knowledge.instructions import own_instructions
from kova_auto.knowledge.memory import read_layer, workspace_memory
from kova_auto.knowledge.permissions import FOLDER
from kova_auto.mounts import look
from kova_auto.threads import aside
from kova_auto.tools.attachments import attached
from kova_auto.tools.boundary import is_missing
from kova_auto.tools.ignore import Lister
from kova_auto.tools.instructions import workspace_instructions
from kova_auto.tools.mentions import mentioned
from kova_auto.tools.pdf import can_read
from kova_auto.tools.roots import Ground, Roots
from kova_auto.tools.sight import Sight

_JOB: Final = "job"
"""Of `[context] memory`: what the job's earlier runs reported."""
_IN_WORKSPACE: Final = tuple(dict.fromkeys((BENEATH[0], *NAMES, *(parts[0] for parts in FOLDERS))))
"""What lies directly in a workspace that has a memory, instructions, or skills."""


@dataclass(frozen=True, slots=True)
class Briefings:
    """Read what a job's run is shown; nothing is changed.

    Attributes:
        roots: The boundary.
        lister: Lists directories.
        past: Knows what the job's earlier runs reported.
        home: Of the user, canonical.
        memory: Where the user's own notes are, canonical.
        skills: Finds those that there are.
        redact: Takes the secrets that are known out of text, before any of it is cut.
        mcp: Knows the servers that lend a run tools.
        roster: Knows the subagents that runs of a job may dispatch in a workspace.
    """

    roots: Roots
    lister: Lister
    past: Past
    home: Path
    memory: Path
    skills: Skills
    redact: Callable[[str], str]
    mcp: McpServers
    roster: Callable[[Job, str], Awaitable[Roster]]

    async def of(self, state: RunState) -> Briefing:
        """Return what a run is shown besides its prompt, as everything is now."""
        # Roots of its own: those of the run's calls may be in use, or not wanted for a long while.
        ground = replace(Ground.of_run(state), run_id=RunId(f"{state.run_id}/briefing"))
        try:
            files = await self._files(state, ground)
            notes = await self._notes(state, ground)
        finally:
            self.roots.release(ground.run_id)
        said = notes.plus(await self._told(state)).plus(await self._servers(state)).plus(await self._agents(state))
        return said.plus(files).plus(await self._said_before(state))

    async def _servers(self, state: RunState) -> Briefing:
        """Return which servers lend the run tools, or what keeps one of them from it."""
        if not state.job.mcp.servers:
            return NOTHING
        lacks = await aside(lambda: list(self.mcp.lacks(state.job)))
        chosen = await aside(lambda: self.mcp.chosen(state.job))
        return Briefing(servers=passage(chosen.servers), lacks="; ".join(lacks))

    async def _agents(self, state: RunState) -> Briefing:
        """Return whom the run may dispatch; a name that means nobody keeps it from beginning."""
        if not state.job.agents.allow:
            return NOTHING
        brief = introduced(roster := await self.roster(state.job, state.request.workspace))
        if not (roster.missing and is_apart(state)):
            return brief
        there = await self.roster(state.job, state.job.workspace)
        return explained(brief, state.job, [one.name for one in roster.missing if there.find(one.name)])

    async def _told(self, state: RunState) -> Briefing:
        """Return what earlier runs of the job reported, where it wants to know."""
        wanted = _JOB in state.job.context.memory
        return recounted(await self.past.digest(state.job, state.run_id)) if wanted else NOTHING

    async def _said_before(self, state: RunState) -> Briefing:
        """Return what was said in the run whose session goes on, and what its model had seen by then."""
        if (before := state.request.continues) is None:
            return NOTHING
        try:
            known = await self.past.journal.load(before)
        except UnknownRunError:
            return Briefing(lacks=f"run {before}, which this one continues, is not on record any more")
        said = carried_over(conversation(known), before)
        return Briefing(history=said, reads=known.seen, rests=tuple(sorted(rests_of(known))), taints=known.tainted_by)

    async def _files(self, state: RunState, ground: Ground) -> Briefing:
        """Return what the prompt mentions, and what is attached to it."""
        paths, found = state.job.context.attachments, mentions(state.job.prompt)
        if not (paths or found):
            return NOTHING
        sight = Sight(self.roots, ground, policy_of_run(state), self.redact, state.tainted_by)
        # What is attached is what lies there, whatever the run has in a workspace of its own.
        near = replace(ground, workspace=state.job.workspace, read_roots=(*ground.read_roots, ground.job_dir))
        with_these = await attached(paths, replace(sight, ground=near), reads_pdf=can_read()) if paths else NOTHING
        images = MOST_IMAGES - sum(isinstance(part, ImagePart) for part in with_these.behind)
        return (await mentioned(found, sight, self.lister, images=images) if found else NOTHING).plus(with_these)

    async def _notes(self, state: RunState, ground: Ground) -> Briefing:
        places = (ground.workspace, *self._own, *self.skills.own)
        wanted = _wanted_skills(state)
        if not wanted and await look(lambda: self._are_missing(ground), *places):
            return NOTHING  # Most runs: finding that out piece by piece costs several times as much.
        return await aside(
            lambda: self._memory(state).plus(self._instructions(ground)).plus(self._skills(state, ground, wanted))
        )

    def _skills(self, state: RunState, ground: Ground, wanted: tuple[str, ...] | None) -> Briefing:
        brief = self.skills.told(ground, wanted)
        if not (brief.lacks and wanted and is_apart(state)):
            return brief
        here = self.skills.shelf(ground).by_name
        there = self.skills.shelf(replace(ground, workspace=state.job.workspace)).by_name
        return explained(brief, state.job, [name for name in wanted if name in there and name not in here])

    def _are_missing(self, ground: Ground) -> bool:
        return self.roots.lacks(_IN_WORKSPACE, ground) and all(map(is_missing, (*self._own, *self.skills.own)))

    @property
    def _own(self) -> tuple[str, ...]:
        """Return where what the user has written lies, if it does."""
        return (str(self.memory), *[f"{self.home}/{FOLDER}/{name}" for name in NAMES])

    def _memory(self, state: RunState) -> Briefing:
        workspace = Path(state.request.workspace)
        directories = {Layer.WORKSPACE: workspace_memory(workspace), Layer.GLOBAL: self.memory}
        named = {directories[layer]: layer for layer in Layer if layer in state.job.context.memory}
        notes: list[Note] = []
        unread: list[str] = []
        for directory, layer in named.items():  # A workspace may be the home: its memory is read once.
            found, notices = read_layer(directory, layer)
            notes += (replace(note, text=self.redact(note.text)) for note in found)
            unread += notices
        if not (notes or unread):
            return NOTHING
        return recalled(notes, unread, may_write=_may_remember(policy_of_run(state), workspace))

    def _instructions(self, ground: Ground) -> Briefing:
        found = (own_instructions(self.home), workspace_instructions(self.roots, ground))
        return instructed(self._clean(file) for file in found if file)

    def _clean(self, file: Instructions) -> Instructions:
        return replace(file, text=self.redact(file.text), problem=self.redact(file.problem))


def _wanted_skills(state: RunState) -> tuple[str, ...] | None:
    """Return the skills that a run is given by name; none where it has no tool to load one."""
    by = state.request.child_of
    return () if by and USE_SKILL not in by.tools else state.job.context.skills


@lru_cache(maxsize=64)  # By what both are: nothing else decides.
def _may_remember(policy: Policy, workspace: Path) -> bool:
    """Say whether a run may write notes, at least where a person agrees who can be asked."""
    call = ToolCall(id=CallId(""), tool="memory_write")
    path = PathFact(str(workspace_memory(workspace)), Zone.INSIDE, writes=True)
    ruling = adjudicate(CallFacts(call, Effect.MEMORY, paths=(path,)), policy).ruling
    return ruling is Ruling.ALLOW or (ruling is Ruling.ASK and policy.can_ask)
