"""The `memory_read` tool: gives one note whole, or says which there are."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, Field

from kova_auto.core.approval.levels import Effect, Verdict
from kova_auto.core.context.memory import Layer, Note, in_order, wrong_name
from kova_auto.core.context.stamp import untrusted
from kova_auto.core.errors import ToolFailedError
from kova_auto.core.message import ResultStatus, ToolCall, ToolResult, told
from kova_auto.core.run import CallState
from kova_auto.core.tool import CallFacts, Scene, ToolOutput, ToolRun
from kova_auto.core.value import Value
from kova_auto.tools.memory.shelf import Shelf, layer_named, layers_of

_NAMED = 200


class MemoryReadArguments(Value):
    """Say what to read."""

    scope: Literal["workspace", "global"] = Field(description="Whose memory: this workspace's, or the user's.")
    file: str | None = Field(default=None, description="Note, as MEMORY.md; left out: which notes there are.")


class MemoryReadTool:
    """Read a memory."""

    name = "memory_read"
    description = (
        "Read one note of the memory whole, as those shown to you may have been shortened or left out. Without `file` "
        "it lists the notes with their sizes, daily/ included."
    )
    effect = Effect.READ
    replay_safe = True
    polling = False
    arguments: type[BaseModel] = MemoryReadArguments

    def __init__(self, shelf: Shelf) -> None:
        """Take what knows the layers."""
        self._shelf = shelf

    def offered(self, scene: Scene) -> bool:
        """Say whether the run's job has a memory."""
        return bool(layers_of(scene))

    async def facts(self, call: ToolCall, args: MemoryReadArguments, scene: Scene) -> CallFacts:
        """Touch nothing but a memory that the job has named."""
        _wanted(args, scene)
        return CallFacts(call, self.effect)

    async def run(self, args: MemoryReadArguments, scene: Scene, verdict: Verdict) -> ToolRun:
        """Read it."""
        del verdict  # reading is the same at every level
        layer = _wanted(args, scene)
        notes, notices = await asyncio.to_thread(self._shelf.notes, (layer,), scene.workspace)
        if args.file is None:
            yield ToolOutput(told(ResultStatus.OK, _listed(layer, notes, notices)))
            return
        note = next((note for note in notes if note.name == args.file), None)
        if note is None:
            raise ToolFailedError(_missing(layer, args.file, notes, notices))
        result = told(ResultStatus.OK, note.text or "[the note is empty]")
        yield ToolOutput(result.model_copy(update={"taints": untrusted((note,))}))

    async def recover(self, call: CallState, scene: Scene) -> ToolResult | None:
        """Say nothing: it can be read again."""
        del call, scene
        return None


def _wanted(args: MemoryReadArguments, scene: Scene) -> Layer:
    """Return the layer to read.

    Raises:
        ToolFailedError: The job does not name it, or the file's name is no note's.
    """
    layer = layer_named(Layer(args.scope), scene)
    if args.file is not None and (why := wrong_name(args.file)):
        message = f"{args.file!r} names no note: {why}"
        raise ToolFailedError(message)
    return layer


def _listed(layer: Layer, notes: Sequence[Note], notices: Sequence[str]) -> str:
    named = in_order(notes)
    lines = [f"{note.label} ({len(note.text)} characters)" for note in named[:_NAMED]]
    if len(named) > _NAMED:
        lines.append(f"[and {len(named) - _NAMED} more; use memory_search]")
    return "\n".join([*(lines or [f"The {layer} memory has no notes yet."]), *notices])


def _missing(layer: Layer, name: str, notes: Sequence[Note], notices: Sequence[str]) -> str:
    if why := next((notice for notice in notices if f"{layer}/{name} " in notice), ""):
        return why
    known = ", ".join(note.name for note in in_order(notes)[:20]) or "none yet"
    return f"there is no note {layer}/{name}; there are: {known}"
