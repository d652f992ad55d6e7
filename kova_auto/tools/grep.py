"""The `grep` tool: finds lines that match a regular expression."""

from __future__ import annotations

import asyncio
import os
import stat
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Literal

from pydantic import BaseModel, Field

from kova_auto.core.approval.levels import Effect, Verdict
from kova_auto.core.errors import ToolFailedError
from kova_auto.core.message import ResultStatus, ToolCall, ToolResult, told
from kova_auto.core.run import CallState
from kova_auto.core.tool import CallFacts, Scene, ToolOutput, ToolRun
from kova_auto.core.value import Value
from kova_auto.tools.boundary import LISTING, PATH_ONLY
from kova_auto.tools.dialect import common_dialect
from kova_auto.tools.encoding import binary_type, decode
from kova_auto.tools.files import read_file
from kova_auto.tools.glob import compiled
from kova_auto.tools.ignore import Lister
from kova_auto.tools.matches import MAX_FILE_BYTES, MAX_LINE, MAX_MATCHES, Searched, Shown
from kova_auto.tools.output import printable
from kova_auto.tools.reading import Reading, Readings
from kova_auto.tools.roots import Ground, Roots, Target
from kova_auto.tools.search import Engine, Lines, Question

Batches = AsyncGenerator[list[Searched], None]


class GrepArguments(Value):
    """Say what to search for."""

    pattern: str = Field(min_length=1, description="Regular expression; matched line by line, without lookaround.")
    path: str = Field(default=".", description="File or directory to search; the workspace, if left out.")
    include: str | None = Field(
        default=None, description="Only files that fit this: *.py by name, or src/**/*.ts by path below `path`."
    )
    case: Literal["sensitive", "ignore"] = Field(
        default="sensitive", description="Whether upper and lower case differ."
    )
    context: int = Field(default=0, ge=0, le=10, description="How many lines to show before and after each match.")


class GrepTool:
    """Search files."""

    name = "grep"
    description = (
        "Search file contents with a regular expression. Each match is `path:line:text`; at most "
        f"{MAX_MATCHES} matches are shown, lines are cut at {MAX_LINE} characters. Binary files, files over 2 MiB and "
        "files that git ignores are not searched; a file that `path` names is searched even if ignored."
    )
    effect = Effect.READ
    replay_safe = True
    polling = False
    arguments: type[BaseModel] = GrepArguments

    def __init__(self, roots: Roots, lister: Lister, engine: Engine, *, seconds: float = 20.0) -> None:
        """Take the boundary, what lists files, what searches them, and how long that may take."""
        self._roots, self._lister, self._engine, self._seconds = roots, lister, engine, seconds
        self._readings = Readings()

    async def facts(self, call: ToolCall, args: GrepArguments, scene: Scene) -> CallFacts:
        """Say which file or directory would be searched."""
        fact = await asyncio.to_thread(lambda: self._roots.fact(self._target(args, scene)))
        return CallFacts(call, self.effect, paths=(fact,))

    async def run(self, args: GrepArguments, scene: Scene, verdict: Verdict) -> ToolRun:
        """Search."""
        del verdict  # searching is the same at every level
        question = Question(common_dialect(args.pattern), args.case == "ignore", MAX_MATCHES + 1)
        shown = Shown(args.context)
        with self._readings.of(scene.run_id, args.path) as reading:
            async with aclosing(self._batches(args, scene, shown, reading)) as batches:
                await self._search(question, batches, shown, min(self._seconds, scene.left_s))
        yield ToolOutput(told(ResultStatus.OK, shown.text()))

    async def _search(self, question: Question, batches: Batches, shown: Shown, seconds: float) -> None:
        """Search texts until there is no more to be shown, or the time is over."""
        clock = asyncio.get_running_loop().time
        until = clock() + seconds
        async for batch in batches:
            texts = [file.lines for file in batch]
            answer = await self._engine.search(question, texts, seconds=max(until - clock(), 0.0))
            for file, numbers in zip(batch, answer.lines, strict=True):
                shown.add(file, numbers)
            if not answer.complete:
                shown.notes.append("[stopped: it took too long; narrow the pattern, the path or `include`]")
            if shown.full or not answer.complete:
                break

    async def recover(self, call: CallState, scene: Scene) -> ToolResult | None:
        """Say nothing: it can be searched again."""
        del call, scene
        return None

    def _target(self, args: GrepArguments, scene: Scene) -> Target:
        return self._roots.locate(args.path, Ground.of_scene(scene), writes=False)

    async def _batches(self, args: GrepArguments, scene: Scene, shown: Shown, reading: Reading) -> Batches:
        """Yield the texts to search, as many at once as may be held."""
        target, wanted = self._target(args, scene), _wanted(args.include)
        if not await asyncio.to_thread(self._is_directory, target):
            yield [await asyncio.to_thread(self._named, target)]
            return
        listing = await reading.listing(self._lister, target)
        if not listing.complete:
            shown.notes.append("[there are more files than are looked at; give a path further down]")
        todo = deque(path for path in listing.files if wanted(path))
        with self._roots.plainly(target):
            directory = target.open(LISTING)
        try:
            while todo:
                yield await reading.batch(target, directory, todo, shown)
        finally:
            os.close(directory)

    def _is_directory(self, target: Target) -> bool:
        with self._roots.plainly(target):
            fd = target.open(PATH_ONLY | os.O_CLOEXEC)
            try:
                return stat.S_ISDIR(os.fstat(fd).st_mode)
            finally:
                os.close(fd)

    def _named(self, target: Target) -> Searched:
        """Return the one file that was named."""
        data = read_file(self._roots, target, limit=MAX_FILE_BYTES).data
        if kind := binary_type(data):
            message = f"{target.shown} is a binary file ({kind}), not text"
            raise ToolFailedError(message)
        return Searched(printable(target.shown), Lines.of(decode(data).readable))


def _wanted(include: str | None) -> Callable[[str], bool]:
    """Return what says whether a listed file is to be searched."""
    if include is None:
        return lambda _: True
    pattern = compiled(include)
    by_name = "/" not in include
    return lambda path: pattern.fits(path.rpartition("/")[2] if by_name else path)
