"""The `read` tool: text with line numbers, images, and the rest of what an earlier result left out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from pydantic import BaseModel, Field

from kova_auto.core.approval.levels import Effect, Verdict
from kova_auto.core.errors import ToolFailedError
from kova_auto.core.ids import BlobHash
from kova_auto.core.message import ImagePart, ResultStatus, TextPart, ToolCall, ToolResult
from kova_auto.core.run import CallState
from kova_auto.core.tool import CallFacts, Scene, ToolOutput, ToolRun
from kova_auto.core.value import Value
from kova_auto.mounts import look
from kova_auto.threads import aside
from kova_auto.tools.encoding import binary_type, decode, image_type
from kova_auto.tools.files import Content, read_file, read_if_small
from kova_auto.tools.numbered import MAX_LINE, numbered
from kova_auto.tools.output import printable
from kova_auto.tools.roots import Ground, Roots, Target

_BLOB = "blob:"
MAX_IMAGE_BYTES = 2 * 1024 * 1024
_NAMED_BY = 12

T = TypeVar("T")
BlobReader = Callable[[BlobHash], Awaitable[bytes]]


def blob_path(key: BlobHash) -> str:
    """Return the path under which the model reads what a result had to leave out."""
    return _BLOB + key[:_NAMED_BY]


class ReadArguments(Value):
    """Say what to read."""

    file_path: str = Field(description="File, relative to the workspace or absolute; or blob:... as a result named it.")
    offset: int = Field(default=1, ge=1, description="First line to show, counted from 1.")
    limit: int | None = Field(default=None, ge=1, description="How many lines to show; all that fit, if left out.")


class ReadTool:
    """Show a file, or the rest of an earlier result."""

    name = "read"
    description = (
        "Read a file. Text comes as numbered lines (number, tab, line), at most 64 KiB of it: go on with `offset`. "
        f"Lines longer than {MAX_LINE} characters are cut. PNG, JPEG, GIF and WebP images of at most 2 MiB are shown "
        "as images; other binary files are refused. A path `blob:...` reads what an earlier result had to leave out."
    )
    effect = Effect.READ
    replay_safe = True
    polling = False
    arguments: type[BaseModel] = ReadArguments

    def __init__(self, roots: Roots, blob: BlobReader) -> None:
        """Take the boundary, and what returns the content of a kept blob."""
        self._roots, self._blob = roots, blob

    async def facts(self, call: ToolCall, args: ReadArguments, scene: Scene) -> CallFacts:
        """Say which file would be read."""
        if args.file_path.startswith(_BLOB):
            return CallFacts(call, self.effect)
        fact = await _looked_up(lambda: self._roots.fact(self._target(args, scene)), args, scene)
        return CallFacts(call, self.effect, paths=(fact,))

    async def run(self, args: ReadArguments, scene: Scene, verdict: Verdict) -> ToolRun:
        """Show it."""
        del verdict  # reading is the same at every level
        if args.file_path.startswith(_BLOB):
            data = await self._blob(_named(args.file_path, scene.rests))
            yield ToolOutput(_result(numbered(decode(data), args.offset, args.limit).text))
            return
        content = await _looked_up(lambda: read_if_small(self._roots, self._target(args, scene)), args, scene)
        if content is None:
            content = await aside(lambda: read_file(self._roots, self._target(args, scene)))
        yield shown(content, args)

    async def recover(self, call: CallState, scene: Scene) -> ToolResult | None:
        """Say nothing: it can be read again."""
        del call, scene
        return None

    def _target(self, args: ReadArguments, scene: Scene) -> Target:
        return self._roots.locate(args.file_path, Ground.of_scene(scene), writes=False)


async def _looked_up(do: Callable[[], T], args: ReadArguments, scene: Scene) -> T:
    """Look up a file, where the workspace is near and its path leads nowhere else, at once."""
    leads_away = args.file_path.startswith(("/", "~")) or ".." in args.file_path.split("/")
    return await (aside(do) if leads_away else look(do, scene.workspace))


def _named(path: str, rests: frozenset[BlobHash]) -> BlobHash:
    """Return the one blob of this run that a path names by the beginning of its hash."""
    prefix = path.removeprefix(_BLOB)
    found = [key for key in rests if key.startswith(prefix)] if len(prefix) >= _NAMED_BY else []
    if len(found) != 1:
        message = f"{printable(path)} names no output of this run; take the name from the result that was shortened"
        raise ToolFailedError(message)
    return found[0]


def shown(content: Content, args: ReadArguments) -> ToolOutput:
    """Return what the model is shown of a file.

    Raises:
        ToolFailedError: It is neither text nor an image, or has no such line.
    """
    reads = {content.path: content.hash}
    if media := image_type(content.data):
        if len(content.data) > MAX_IMAGE_BYTES:
            message = f"{args.file_path} is an image of {len(content.data)} bytes; at most {MAX_IMAGE_BYTES} are shown"
            raise ToolFailedError(message)
        image = ImagePart(blob=content.hash, media_type=media)
        note = TextPart(text=f"[{media}, {len(content.data)} bytes]")
        return ToolOutput(ToolResult(status=ResultStatus.OK, parts=(note, image), reads=reads), blobs=(content.data,))
    if kind := binary_type(content.data):
        message = f"{args.file_path} is a binary file ({kind}, {len(content.data)} bytes), not text"
        raise ToolFailedError(message)
    return ToolOutput(_result(numbered(decode(content.data), args.offset, args.limit).text, reads))


def _result(text: str, reads: dict[str, BlobHash] | None = None) -> ToolResult:
    return ToolResult(status=ResultStatus.OK, parts=(TextPart(text=text),), reads=reads or {})
