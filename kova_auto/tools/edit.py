"""The `edit` tool: replaces one passage of a file, exactly."""

from __future__ import annotations

import asyncio

from pydantic import BaseModel, Field

from kova_auto.core.approval.levels import Effect, Verdict
from kova_auto.core.consent import Target as Overwritten
from kova_auto.core.errors import ToolFailedError
from kova_auto.core.message import ToolCall, ToolResult
from kova_auto.core.run import CallState
from kova_auto.core.tool import CallFacts, Scene, ToolRun
from kova_auto.core.value import Value
from kova_auto.tools.changing import Change, carry_out, known_to_model, overwritten, recovered
from kova_auto.tools.encoding import binary_type, decode
from kova_auto.tools.files import Content, existing
from kova_auto.tools.passage import Passage, found_at, hint
from kova_auto.tools.roots import Ground, Roots, Target


class EditArguments(Value):
    """Say what to replace."""

    file_path: str = Field(description="File, relative to the workspace or absolute. It must have been read before.")
    old_string: str = Field(
        min_length=1, description="Text to replace, exactly as it is in the file, without the line numbers."
    )
    new_string: str = Field(description="Text to put in its place.")
    replace_all: bool = Field(default=False, description="Replace every occurrence; otherwise there must be just one.")


class EditTool:
    """Change a part of a file."""

    name = "edit"
    description = (
        "Replace text in a file that was read in this run and has not changed since. `old_string` must match exactly, "
        "white space included, and must occur once unless `replace_all` is set. Line endings are kept."
    )
    effect = Effect.WRITE
    replay_safe = False
    polling = False
    arguments: type[BaseModel] = EditArguments

    def __init__(self, roots: Roots) -> None:
        """Take the boundary."""
        self._roots = roots

    async def facts(self, call: ToolCall, args: EditArguments, scene: Scene) -> CallFacts:
        """Say which file would be changed."""
        fact = await asyncio.to_thread(lambda: self._roots.fact(self._target(args, scene)))
        return CallFacts(call, self.effect, paths=(fact,))

    async def targets(self, args: EditArguments, scene: Scene) -> tuple[Overwritten, ...]:
        """Say what it would write over."""
        return await asyncio.to_thread(overwritten, self._roots, self._target(args, scene))

    async def run(self, args: EditArguments, scene: Scene, verdict: Verdict) -> ToolRun:
        """Change it."""
        del verdict  # whether it may be changed was decided before
        target = self._target(args, scene)
        found = await asyncio.to_thread(existing, self._roots, target)
        if found is None:
            message = f"there is no {target.shown}; use write to create it"
            raise ToolFailedError(message)
        known_to_model(target, found, scene)
        after, lines = await asyncio.to_thread(edited, target, found, args)
        where = ", ".join(map(str, lines[:20])) + (", ..." if len(lines) > 20 else "")
        said = f"Replaced {len(lines)} occurrence{'s' * (len(lines) > 1)} in {target.shown}, at line {where}."
        async for fact in carry_out(self._roots, Change(target, found, after), scene, said=said):
            yield fact

    async def recover(self, call: CallState, scene: Scene) -> ToolResult | None:
        """Say whether the file holds what was to be written."""
        return await recovered(self._roots, call, scene)

    def _target(self, args: EditArguments, scene: Scene) -> Target:
        return self._roots.locate(args.file_path, Ground.of_scene(scene), writes=True)


def edited(target: Target, found: Content, args: EditArguments) -> tuple[bytes, list[int]]:
    """Return the file's new content, and the lines where something was replaced.

    Raises:
        ToolFailedError: The text does not occur, or more than once, or the file is no text.
    """
    if kind := binary_type(found.data):
        message = f"{target.shown} is a binary file ({kind}), not text"
        raise ToolFailedError(message)
    text = decode(found.data)
    passage = Passage.of(text.text, args.old_string, args.new_string)
    if passage.old == passage.new:
        message = "old_string and new_string are the same; nothing was changed"
        raise ToolFailedError(message)
    lines = found_at(passage)
    if not lines:
        message = f"old_string does not occur in {target.shown}. {hint(passage)}"
        raise ToolFailedError(message)
    if len(lines) > 1 and not args.replace_all:
        where = ", ".join(map(str, lines[:20]))
        message = (
            f"old_string occurs {len(lines)} times in {target.shown}, at lines {where}: "
            "add lines around it that make it unique, or set replace_all"
        )
        raise ToolFailedError(message)
    try:
        return text.encode(passage.replaced()), lines
    except UnicodeEncodeError as exc:
        message = f"new_string holds half a character; nothing was changed ({exc.reason})"
        raise ToolFailedError(message) from exc
