"""The `memory_write` tool: keeps what a later run should know, in a note of the workspace's or the user's memory."""

from __future__ import annotations

import asyncio
from typing import Literal

from pydantic import BaseModel, Field

from kova_auto.core.approval.levels import Effect, Verdict
from kova_auto.core.consent import Target as Overwritten
from kova_auto.core.context.memory import MAIN_NOTE, MAX_NOTE_BYTES, Layer
from kova_auto.core.context.stamp import stamp
from kova_auto.core.context.versions import Source
from kova_auto.core.errors import ToolFailedError
from kova_auto.core.message import ResultStatus, TextPart, ToolCall, ToolResult
from kova_auto.core.run import CallState
from kova_auto.core.tool import CallFacts, Scene, ToolOutput, ToolRun, WriteAnnounced
from kova_auto.core.value import Value
from kova_auto.tools.changing import Change, overwritten, recovered, tag_of
from kova_auto.tools.files import Content
from kova_auto.tools.memory.book import Book, note_text
from kova_auto.tools.memory.shelf import Shelf, layer_named, layers_of
from kova_auto.tools.roots import Ground

_MAX_CONTENT = 20_000


class MemoryWriteArguments(Value):
    """Say what to keep."""

    scope: Literal["workspace", "global"] = Field(
        description="workspace: for runs in this workspace; global: for every run of this user."
    )
    content: str = Field(
        min_length=1, max_length=_MAX_CONTENT, description="Markdown to keep; when it was kept is added as a comment."
    )
    file: str = Field(
        default=MAIN_NOTE, description="Note, as lessons.md; daily/2026-12-01.md is found by search alone."
    )
    mode: Literal["append", "overwrite"] = Field(
        default="append", description="append adds to the note's end; overwrite replaces all of it."
    )


class MemoryWriteTool:
    """Write a note."""

    name = "memory_write"
    description = (
        "Keep what later runs should know: preferences and decisions in MEMORY.md, lessons in the workspace's "
        "lessons.md, each tagged #lesson, the day's events in daily/YYYY-MM-DD.md. Notes directly in the memory are "
        f"shown to later runs before they begin. A note has at most {MAX_NOTE_BYTES // 1024} KiB; read it before you "
        "overwrite it, keep it short, and keep no secrets. Earlier versions can be restored by a person."
    )
    effect = Effect.MEMORY
    replay_safe = False
    polling = False
    arguments: type[BaseModel] = MemoryWriteArguments

    def __init__(self, shelf: Shelf) -> None:
        """Take what knows the layers."""
        self._shelf = shelf

    def offered(self, scene: Scene) -> bool:
        """Say whether the run's job has a memory."""
        return bool(layers_of(scene))

    async def facts(self, call: ToolCall, args: MemoryWriteArguments, scene: Scene) -> CallFacts:
        """Say which note would be written: the workspace's is inside, the user's is not."""
        book = self._book(args, scene)
        fact = await asyncio.to_thread(lambda: book.roots.fact(book.target(args.file)))
        return CallFacts(call, self.effect, paths=(fact,))

    async def targets(self, args: MemoryWriteArguments, scene: Scene) -> tuple[Overwritten, ...]:
        """Say what it would write over."""
        book = self._book(args, scene)
        return await asyncio.to_thread(lambda: overwritten(book.roots, book.target(args.file)))

    async def run(self, args: MemoryWriteArguments, scene: Scene, verdict: Verdict) -> ToolRun:
        """Write it, a version of it first."""
        del verdict  # whether it may be written was decided before
        book = self._book(args, scene)
        found = await asyncio.to_thread(book.found, args.file)
        change = Change(book.target(args.file), found, _after(args, found, scene))
        planned = change.planned
        yield WriteAnnounced(planned, blobs=((found.data,) if found else ()) + (change.after,))
        tag = tag_of(scene)
        await asyncio.to_thread(book.put, args.file, found, change.after, source=Source.AGENT, now=scene.now, tag=tag)
        said = _said(args, found, change.after)
        yield ToolOutput(ToolResult(status=ResultStatus.OK, parts=(TextPart(text=said),), changes=(planned,)))

    async def recover(self, call: CallState, scene: Scene) -> ToolResult | None:
        """Say whether the note holds what was to be written."""
        return await recovered(self._shelf.roots, call, scene)

    def _book(self, args: MemoryWriteArguments, scene: Scene) -> Book:
        """Return what writes the layer that is named.

        Raises:
            ToolFailedError: The job does not name it, or the run is to write nothing outside its copy.
        """
        layer = layer_named(Layer(args.scope), scene)
        if layer is Layer.GLOBAL and scene.staged:
            message = "this run is staged and writes nothing outside its copy of the workspace; use scope 'workspace'"
            raise ToolFailedError(message)
        return self._shelf.book(layer, Ground.of_scene(scene))


def _after(args: MemoryWriteArguments, found: Content | None, scene: Scene) -> bytes:
    """Return the whole new note.

    Raises:
        ToolFailedError: The note is no text that can be added to, or becomes too large; or the content is no text.
    """
    try:
        content = args.content.strip("\n").encode()
    except UnicodeEncodeError as exc:
        message = f"content holds half a character at position {exc.start}; nothing was written"
        raise ToolFailedError(message) from exc
    added = f"{stamp(scene.now, scene.run_id, scene.tainted_by)}\n".encode() + content + b"\n"
    before, label = found.data if found and args.mode == "append" else b"", f"{args.scope}/{args.file}"
    note_text(before, label)
    after = before.rstrip(b"\n") + b"\n\n" + added if before.strip() else added
    note_text(after, label)
    return after


def _said(args: MemoryWriteArguments, found: Content | None, after: bytes) -> str:
    done = "Began" if found is None else "Added to" if args.mode == "append" else "Overwrote"
    return f"{done} the note {args.scope}/{args.file} (now {len(after)} bytes, {after.count(10)} lines)."
