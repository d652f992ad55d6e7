"""The `write` tool: gives a file new content at once, or adds to its end."""

from __future__ import annotations

import asyncio
import json
from typing import Literal

from pydantic import BaseModel, Field

from kova_auto.core.approval.levels import Effect, Verdict
from kova_auto.core.consent import Target as Overwritten
from kova_auto.core.errors import ToolFailedError
from kova_auto.core.message import ToolCall, ToolResult
from kova_auto.core.run import CallState
from kova_auto.core.tool import CallFacts, Scene, ToolRun
from kova_auto.core.value import Value
from kova_auto.tools.changing import Change, carry_out, known_to_model, overwritten, recovered
from kova_auto.tools.files import Content, existing
from kova_auto.tools.roots import Ground, Roots, Target


class WriteArguments(Value):
    """Say what to write."""

    file_path: str = Field(description="File, relative to the workspace or absolute.")
    content: str = Field(description="Text to write, as it is; with mode append, the text to add.")
    mode: Literal["overwrite", "append"] = Field(
        default="overwrite", description="overwrite replaces the whole file; append adds to its end."
    )


class WriteTool:
    """Write a file."""

    name = "write"
    description = (
        "Write a text file of at most 8 MiB; missing directories are made. An existing file is overwritten only if it "
        "was read in this run and has not changed since. `append` adds to the end and needs no reading. A .json file "
        "must be valid JSON afterwards. Prefer `edit` for small changes."
    )
    effect = Effect.WRITE
    replay_safe = False
    polling = False
    arguments: type[BaseModel] = WriteArguments

    def __init__(self, roots: Roots) -> None:
        """Take the boundary."""
        self._roots = roots

    async def facts(self, call: ToolCall, args: WriteArguments, scene: Scene) -> CallFacts:
        """Say which file would be written."""
        fact = await asyncio.to_thread(lambda: self._roots.fact(self._target(args.file_path, scene)))
        return CallFacts(call, self.effect, paths=(fact,))

    async def targets(self, args: WriteArguments, scene: Scene) -> tuple[Overwritten, ...]:
        """Say what it would write over."""
        return await asyncio.to_thread(overwritten, self._roots, self._target(args.file_path, scene))

    async def run(self, args: WriteArguments, scene: Scene, verdict: Verdict) -> ToolRun:
        """Write it."""
        del verdict  # whether it may be written was decided before
        target = self._target(args.file_path, scene)
        found = await asyncio.to_thread(existing, self._roots, target)
        change = Change(target, found, _after(args, target, found, scene))
        done = "Created" if found is None else "Added to" if args.mode == "append" else "Overwrote"
        size = f"{len(change.after)} bytes, {change.after.count(10)} lines"
        async for fact in carry_out(self._roots, change, scene, said=f"{done} {target.shown} (now {size})."):
            yield fact

    async def recover(self, call: CallState, scene: Scene) -> ToolResult | None:
        """Say whether the file holds what was to be written."""
        return await recovered(self._roots, call, scene)

    def _target(self, path: str, scene: Scene) -> Target:
        return self._roots.locate(path, Ground.of_scene(scene), writes=True)


def _after(args: WriteArguments, target: Target, found: Content | None, scene: Scene) -> bytes:
    """Return the whole new content.

    Raises:
        ToolFailedError: The model does not know what it would replace, or the content is not what the name promises.
    """
    if found is not None and args.mode == "overwrite":
        known_to_model(target, found, scene)
    try:
        content = args.content.encode()
    except UnicodeEncodeError as exc:
        message = f"content holds half a character at position {exc.start}; nothing was written"
        raise ToolFailedError(message) from exc
    after = found.data + content if found is not None and args.mode == "append" else content
    if target.name.casefold().endswith(".json") and (found is None or not _json_problem(found.data)):
        _wants_json(target, after)
    return after


def _wants_json(target: Target, data: bytes) -> None:
    if problem := _json_problem(data):
        message = f"{target.shown} would not be valid JSON: {problem}; nothing was written"
        raise ToolFailedError(message)


def _json_problem(data: bytes) -> str:
    """Return what is wrong with a JSON text; empty where nothing is. A file may be JSON with comments: see `_after`."""
    try:
        json.loads(data)
    except (ValueError, RecursionError) as exc:
        return str(exc)
    return ""
