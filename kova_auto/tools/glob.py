"""The `glob` tool: lists files and directories whose path fits a pattern."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import BaseModel, Field

from kova_auto.core.approval.levels import Effect, Verdict
from kova_auto.core.errors import ToolArgumentsError
from kova_auto.core.message import ResultStatus, ToolCall, ToolResult, told
from kova_auto.core.run import CallState
from kova_auto.core.tool import CallFacts, Scene, ToolOutput, ToolRun
from kova_auto.core.value import Value
from kova_auto.tools.ignore import Lister, Listing
from kova_auto.tools.output import printable
from kova_auto.tools.roots import Ground, Roots, Target
from kova_auto.tools.wildcard import BadPatternError, compile_wildcard, expand_braces

MAX_RESULTS = 200


class GlobArguments(Value):
    """Say what to look for."""

    pattern: str = Field(
        min_length=1, max_length=1000, description="Pattern, relative to `path`: *, ?, [a-z], {a,b}, ** (any depth)."
    )
    path: str = Field(default=".", description="Directory to look in; the workspace, if left out.")


class GlobTool:
    """List what fits a pattern."""

    name = "glob"
    description = (
        f"Find files and directories by pattern, sorted by path, at most {MAX_RESULTS}; directories end with a slash. "
        "`*` stays within one directory, `**/` reaches any depth: `*` lists a directory, `**/*.py` finds all Python "
        "files. Files that git ignores are left out, hidden ones are not."
    )
    effect = Effect.READ
    replay_safe = True
    polling = False
    arguments: type[BaseModel] = GlobArguments

    def __init__(self, roots: Roots, lister: Lister) -> None:
        """Take the boundary, and what lists files."""
        self._roots, self._lister = roots, lister

    async def facts(self, call: ToolCall, args: GlobArguments, scene: Scene) -> CallFacts:
        """Say which directory would be listed."""
        fact = await asyncio.to_thread(lambda: self._roots.fact(self._target(args, scene)))
        return CallFacts(call, self.effect, paths=(fact,))

    async def run(self, args: GlobArguments, scene: Scene, verdict: Verdict) -> ToolRun:
        """List it."""
        del verdict  # listing is the same at every level
        pattern = compiled(args.pattern)
        target = self._target(args, scene)
        listing = await self._lister.list(target)
        found = await asyncio.to_thread(_matching, listing, pattern)
        yield ToolOutput(told(ResultStatus.OK, _shown(found, listing, target)))

    async def recover(self, call: CallState, scene: Scene) -> ToolResult | None:
        """Say nothing: it can be listed again."""
        del call, scene
        return None

    def _target(self, args: GlobArguments, scene: Scene) -> Target:
        return self._roots.locate(args.path, Ground.of_scene(scene), writes=False)


@dataclass(frozen=True, slots=True)
class PathPattern:
    """Hold what a path below the directory that is looked in must be."""

    files: re.Pattern[str]
    directories: re.Pattern[str]

    def fits(self, path: str) -> bool:
        """Say whether a relative path is meant; a directory's ends with a slash."""
        if path.endswith("/"):
            return self.directories.fullmatch(path[:-1]) is not None
        return self.files.fullmatch(path) is not None


def compiled(pattern: str) -> PathPattern:
    """Return what a pattern means; one that ends with a slash means directories only.

    Raises:
        ToolArgumentsError: The pattern is none.
    """
    text = pattern.removeprefix("./")
    if text.startswith("/") or ".." in text.split("/"):
        message = f"pattern {pattern!r} must be relative to `path`, without '..': give the directory as `path`"
        raise ToolArgumentsError(message)
    try:
        alternatives = expand_braces(text)
        files = [compile_wildcard(one).pattern for one in alternatives if not one.endswith("/")]
        directories = [compile_wildcard(one.removesuffix("/")).pattern for one in alternatives]
    except BadPatternError as exc:
        message = f"pattern {pattern!r} is none: a '[' without its ']', a trailing backslash, or too many alternatives"
        raise ToolArgumentsError(message) from exc
    return PathPattern(_one_of(files), _one_of(directories))


def _one_of(expressions: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{one})" for one in expressions) or "(?!)", re.DOTALL)


def _matching(listing: Listing, pattern: PathPattern) -> list[str]:
    return [path for path in sorted({*listing.files, *_directories(listing.files)}) if pattern.fits(path)]


def _directories(files: Iterable[str]) -> set[str]:
    """Return the directories that hold the files, each with a slash at its end."""
    found: set[str] = set()
    for file in files:
        above = file.rpartition("/")[0]
        while above and f"{above}/" not in found:
            found.add(f"{above}/")
            above = above.rpartition("/")[0]
    return found


def _shown(found: list[str], listing: Listing, target: Target) -> str:
    lead = named_below(target)
    lines = [printable(lead + path) for path in found[:MAX_RESULTS]]
    if not found:
        lines.append(f"[nothing fits; {len(listing.files)} files were looked at]")
    elif len(found) > MAX_RESULTS:
        lines.append(f"[{len(found) - MAX_RESULTS} more of {len(found)}; narrow the pattern or give a path]")
    if not listing.complete:
        lines.append("[there are more files than are looked at; give a path further down]")
    return "\n".join(lines)


def named_below(target: Target) -> str:
    """Return what comes before a path below the target, so that the model can hand the whole to another tool."""
    return "" if target.shown == "." else target.shown.rstrip("/") + "/"
