"""Looks for control names in a tree, at bounded cost: widest first, so that what lies near the top is always found."""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from kova_auto.core.approval.floor import ASKED_DIRS, ASKED_FILES, CONTROL_DIRS, CONTROL_FILES, fold

JOB_SUFFIX = ".toml"
MAX_DEPTH = 6
"""So many directories below a root are entered; names are still read in the last one."""

MAX_ENTRIES = 20_000
"""After so many names, no further directory is entered."""

NEVER_ENTERED = ("node_modules", ".venv", "venv", ".tox", ".nox", "__pycache__", "site-packages", "target")
"""Filled by package managers and compilers, with control names of others that nothing heeds there."""


def _patterns() -> dict[str, frozenset[str]]:
    """Return each control name's first component with the second ones; an empty second is the name itself."""
    found: dict[str, set[str]] = {}
    for name in (*CONTROL_DIRS, *CONTROL_FILES, *ASKED_DIRS, *ASKED_FILES):
        first, _, second = fold(name).partition("/")
        found.setdefault(first, set()).add(second)
    return {first: frozenset(seconds) for first, seconds in found.items()}


_PATTERNS = _patterns()


class Search:
    """Search trees for control names; `complete` says afterwards whether all of them were looked at."""

    def __init__(self) -> None:
        """Begin with the whole budget."""
        self.complete = True
        self._left = MAX_ENTRIES

    def named(self, root: Path) -> Iterator[Path]:
        """Yield what bears a control name, or the first half of one; nothing below such a name, and no link's target.

        The top's own names are all read, however many there are.
        """
        todo = deque([(str(root), 0)])
        while todo:
            here, depth = todo.popleft()
            if self._left <= 0:
                self.complete = False
                return
            names, below = self._listed(here)
            yield from (Path(here, name) for name in sorted(names))
            if depth < MAX_DEPTH:
                todo.extend((f"{here}/{name}", depth + 1) for name in sorted(below))
            elif below:
                self.complete = False

    def _listed(self, here: str) -> tuple[list[str], list[str]]:
        """Return the control names in a directory, and the directories to look at next."""
        names, below = [], []
        try:
            with os.scandir(here) as entries:
                for entry in entries:
                    self._left -= 1
                    name = entry.name
                    seconds = _PATTERNS.get(_folded(name))
                    if seconds is not None:
                        names.append(name)
                    if (seconds is None or "" not in seconds) and entry.is_dir(follow_symlinks=False):
                        below.append(name)
        except OSError:  # gone, or closed to us
            self.complete = False
        return names, [name for name in below if name not in NEVER_ENTERED]


def control_paths(path: Path) -> Iterator[Path]:
    """Yield `path` if its name is one of control, or what lies below it under such a name."""
    seconds = _PATTERNS.get(_folded(path.name), frozenset())
    if "" in seconds:
        yield path
    elif seconds and is_directory(path):
        yield from (path / name for name in listed(path) if _folded(name) in seconds)


def job_files(here: Path) -> list[Path]:
    """Return what a service would read as job files, or as what they draw in."""
    return [here / name for name in listed(here) if name.casefold().endswith(JOB_SUFFIX)]


def listed(path: Path) -> list[str]:
    """Return the names in a directory, in order; none where there is none."""
    try:
        return sorted(child.name for child in path.iterdir())
    except OSError:
        return []


def mode_of(path: Path) -> int | None:
    """Return what lies at a path, a link as itself; None where nothing does."""
    try:
        return path.lstat().st_mode
    except OSError:
        return None


def number_of(path: Path) -> int:
    """Return the number by which the file system knows a directory; 0 where there is none."""
    try:
        return path.lstat().st_ino
    except OSError:
        return 0


def is_directory(path: Path) -> bool:
    """Say whether a directory, and no link to one, lies at a path."""
    mode = mode_of(path)
    return mode is not None and stat.S_ISDIR(mode)


def _folded(name: str) -> str:
    """Return a name as the floor compares it, the short way where it is plain."""
    return name.casefold().rstrip(" .") if name.isascii() and ":" not in name else fold(name)
