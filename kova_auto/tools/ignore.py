"""Lists the files below a directory, but those that git ignores: asking git where it is there, else reading its rules.

Both give the same answers. Outside a repository `.gitignore` files count all the same: copies and archives of
repositories have them. The rules that count are the repository's own (`.gitignore` and `info/exclude`), not those of
the user whom the service runs as. A directory that is ignored itself, and asked for by name, is listed whole.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

from kova_auto.core.approval.floor import lies_in
from kova_auto.tools import git
from kova_auto.tools.boundary import LISTING
from kova_auto.tools.files import read_small
from kova_auto.tools.gitignore import Rules
from kova_auto.tools.gitindex import Tracked
from kova_auto.tools.roots import NO_FILES, Roots, Target
from kova_auto.tools.walk import MAX_ENTRIES, Walk, is_file

_MAX_NESTED = 200


@dataclass(frozen=True, slots=True)
class Listing:
    """Hold the files and symbolic links below a directory, as relative paths, sorted.

    Attributes:
        path: The directory; absolute and canonical.
        complete: False where there are more than are looked at.
    """

    path: str
    files: tuple[str, ...]
    complete: bool = True


@dataclass(frozen=True, slots=True)
class _Part:
    """Hold what was found in one repository, relative to the directory that was listed."""

    files: Iterable[str]
    nested: Iterable[str] = ()
    complete: bool = True


class Lister:
    """List what git would show."""

    def __init__(self, roots: Roots, git_program: str | None) -> None:
        """Take the boundary, and the absolute path of git where there is one."""
        self._roots, self._git = roots, git_program

    async def list(self, target: Target) -> Listing:
        """Return what lies below a directory.

        Raises:
            ToolFailedError: It is no directory, or may not be read.
        """
        base = await asyncio.to_thread(self._base, target)
        skip = self._skipped(target, base)
        found: set[str] = set()
        complete, todo, looked_at = True, deque([""]), 0
        while todo and looked_at < _MAX_NESTED:
            prefix, looked_at = todo.popleft(), looked_at + 1
            part = await self._repository(target, base, prefix, skip)
            found |= {_joined(prefix, name) for name in part.files}
            todo += (_joined(prefix, name) for name in part.nested)
            complete = complete and part.complete
        files = await asyncio.to_thread(lambda: sorted(self._present(target, found, skip)))
        return Listing(str(base), tuple(files[:MAX_ENTRIES]), complete and not todo and len(files) <= MAX_ENTRIES)

    def _base(self, target: Target) -> Path:
        """Return the directory's canonical path."""
        with self._roots.plainly(target):
            fd = target.open(LISTING)
            try:
                return Path(self._roots.guard(target, fd))
            finally:
                os.close(fd)

    def _skipped(self, target: Target, base: Path) -> frozenset[str]:
        """Return what is never listed, relative to the directory: secrets, and where the kernel has no files."""
        secrets = [place for place in self._roots.secrets(target.root) if lies_in(place, (base,))]
        kernel = [PurePath("/") / name for name in NO_FILES if base == Path("/")]
        depth = len(base.parts)
        return frozenset("/".join(place.parts[depth:]) for place in (*secrets, *kernel))

    async def _repository(self, target: Target, base: Path, prefix: str, skip: frozenset[str]) -> _Part:
        """List a directory as far as its own repository goes, or what lies in none."""
        directory = base / prefix
        top = await asyncio.to_thread(git.repository_of, directory)
        if top is not None and self._git is not None:
            paths = await git.listed(self._git, top, directory)
            if paths:
                return await asyncio.to_thread(_of_git, paths, directory)
            if paths is not None and not await git.is_ignored(self._git, top, directory):
                return _Part(())
        return await asyncio.to_thread(self._walked, target, directory, prefix, top, skip)

    def _walked(self, target: Target, directory: Path, prefix: str, top: Path | None, skip: frozenset[str]) -> _Part:
        """List by our own reading of the rules."""
        at = directory.relative_to(top).parts if top else ()
        rules = _rules_above(top, at) if top else Rules()
        tracked = git.tracked_in(top) if top and rules is not None else Tracked()
        lead = "/".join((*at, ""))
        links = {name.removeprefix(lead) for name in map(os.fsdecode, tracked.links) if name.startswith(lead)}
        inside = _joined(prefix, "")
        below = {name.removeprefix(inside) for name in skip if name.startswith(inside)}
        walk = Walk(directory, at, rules, skip=frozenset(below | links))
        with self._roots.plainly(target):
            fd = target.root.open((*target.parts, *PurePath(prefix).parts), LISTING, follow=True)
            try:
                walk.run(fd)
            finally:
                os.close(fd)
        files = {name.removeprefix(lead) for name in map(os.fsdecode, tracked.files) if name.startswith(lead)}
        nested = {name for name in links if git.gitdir_of(directory / name) is not None}
        return _Part(files.union(walk.files), nested.union(walk.nested), walk.complete)

    def _present(self, target: Target, names: Iterable[str], skip: frozenset[str]) -> Iterator[str]:
        """Yield what is really there: an index also holds what was removed."""
        with self._roots.plainly(target):
            fd = target.open(LISTING)
            try:
                yield from (name for name in names if is_file(name, fd) and not _lies_below(name, skip))
            finally:
                os.close(fd)


def _of_git(paths: Iterable[str], directory: Path) -> _Part:
    """Tell files from the directories of other repositories."""
    files, nested = [], []
    for path in paths:
        name = path.rstrip("/")
        if path != name or _is_directory(directory / name):
            if git.gitdir_of(directory / name) is not None:
                nested.append(name)
        else:
            files.append(name)
    return _Part(files, nested)


def _is_directory(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _rules_above(top: Path, at: tuple[str, ...]) -> Rules | None:
    """Return the rules that reach down to a directory from above; None where they exclude the directory itself."""
    rules = Rules().below((), git.excluded_in(top))
    for depth in range(len(at)):
        rules = rules.below(at[:depth], read_small(str(top.joinpath(*at[:depth]) / ".gitignore")))
        if rules.exclude(at[: depth + 1], directory=True):
            return None
    return rules


def _joined(prefix: str, name: str) -> str:
    return f"{prefix}/{name}" if prefix else name


def _lies_below(name: str, places: frozenset[str]) -> bool:
    return any(name == place or name.startswith(f"{place}/") for place in places)
