"""The `memory_search` tool: finds lines in the notes of a run's memory, daily ones included."""

from __future__ import annotations

import asyncio

from pydantic import BaseModel, Field

from kova_auto.core.approval.levels import Effect, Verdict
from kova_auto.core.context.stamp import untrusted
from kova_auto.core.message import ResultStatus, ToolCall, ToolResult, told
from kova_auto.core.run import CallState
from kova_auto.core.tool import CallFacts, Scene, ToolOutput, ToolRun
from kova_auto.core.value import Value
from kova_auto.tools.memory.fulltext import MAX_LINE, Hits, search
from kova_auto.tools.memory.shelf import Shelf, layers_of

_MAX_QUERY = 400
_LIMIT, _MOST = 6, 20


class MemorySearchArguments(Value):
    """Say what to look for."""

    query: str = Field(min_length=1, max_length=_MAX_QUERY, description="Words; a line need not have all of them.")
    limit: int = Field(default=_LIMIT, ge=1, le=_MOST, description="How many lines at most.")


class MemorySearchTool:
    """Search the memory."""

    name = "memory_search"
    description = (
        "Search every note of the memory for words, daily/ included, which is shown to no run. Each hit is "
        f"`layer/note:line: text`, the best first; lines are cut at {MAX_LINE} characters."
    )
    effect = Effect.READ
    replay_safe = True
    polling = False
    arguments: type[BaseModel] = MemorySearchArguments

    def __init__(self, shelf: Shelf) -> None:
        """Take what knows the layers."""
        self._shelf = shelf

    def offered(self, scene: Scene) -> bool:
        """Say whether the run's job has a memory."""
        return bool(layers_of(scene))

    async def facts(self, call: ToolCall, args: MemorySearchArguments, scene: Scene) -> CallFacts:
        """Touch nothing but the memory that the job has named."""
        del args, scene
        return CallFacts(call, self.effect)

    async def run(self, args: MemorySearchArguments, scene: Scene, verdict: Verdict) -> ToolRun:
        """Search."""
        del verdict  # searching is the same at every level
        found, notices = await asyncio.to_thread(self._searched, args, scene)
        result = told(ResultStatus.OK, "\n".join([*hit_lines(found, args.query), *notices]))
        yield ToolOutput(result.model_copy(update={"taints": untrusted(hit.note for hit in found.found)}))

    def _searched(self, args: MemorySearchArguments, scene: Scene) -> tuple[Hits, list[str]]:
        notes, notices = self._shelf.notes(layers_of(scene), scene.workspace)
        return search(notes, args.query, args.limit), notices

    async def recover(self, call: CallState, scene: Scene) -> ToolResult | None:
        """Say nothing: it can be searched again."""
        del call, scene
        return None


def hit_lines(hits: Hits, query: str) -> list[str]:
    """Return what was found as lines; what was not searched is said."""
    lines = [f"{hit.note.label}:{hit.number}: {hit.line}" for hit in hits.found]
    lines = lines or [f"Nothing in the memory has a word of {query!r}."]
    if hits.unsearched:
        lines.append(f"[{hits.unsearched} notes were not searched: there is too much text]")
    return lines
