"""Walks a directory tree through descriptors: bounded, following no link, leaving out what is ignored."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from kova_auto.tools.boundary import LISTING
from kova_auto.tools.files import read_small
from kova_auto.tools.git import gitdir_of
from kova_auto.tools.gitignore import Rules

MAX_ENTRIES = 50_000
_MAX_DEPTH = 64


@dataclass(slots=True)
class Walk:
    """Collect what lies below a directory.

    Attributes:
        base: The directory, by name: only to look for other repositories.
        at: Its components below the top of its repository.
        rules: What applies in it; None where nothing is left out.
        skip: Relative paths that are not entered.
        files: Files and symbolic links, relative.
        nested: Directories of other repositories, which were not entered.
        complete: False where a bound was reached.
    """

    base: Path
    at: tuple[str, ...] = ()
    rules: Rules | None = field(default_factory=Rules)
    skip: frozenset[str] = frozenset()
    files: list[str] = field(default_factory=list)
    nested: list[str] = field(default_factory=list)
    complete: bool = True
    seen: int = 0

    def run(self, directory: int) -> None:
        """Walk everything below an open directory."""
        self._directory(directory, (), self.rules)

    def _directory(self, directory: int, parts: tuple[str, ...], rules: Rules | None) -> None:
        if rules is not None:
            rules = rules.below((*self.at, *parts), read_small(".gitignore", directory))
        with os.scandir(directory) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
        for entry in listed:
            self.seen += 1
            if self.seen > MAX_ENTRIES or len(parts) > _MAX_DEPTH:
                self.complete = False
                return
            path = (*parts, entry.name)
            if entry.name != ".git" and "/".join(path) not in self.skip:
                self._entry(entry, directory, path, rules)

    def _entry(self, entry: os.DirEntry[str], above: int, path: tuple[str, ...], rules: Rules | None) -> None:
        is_directory = entry.is_dir(follow_symlinks=False)
        if rules is not None and rules.exclude((*self.at, *path), directory=is_directory):
            return
        name = "/".join(path)
        if not is_directory:
            if entry.is_symlink() or entry.is_file(follow_symlinks=False):
                self.files.append(name)
            return
        with opened(entry.name, above) as directory:
            if directory is None:
                return
            if is_there(".git", directory) and gitdir_of(self.base / name) is not None:
                self.nested.append(name)
            else:
                self._directory(directory, path, rules)


@contextmanager
def opened(name: str, above: int) -> Iterator[int | None]:
    """Hold a directory open, or None where it is none of ours to read."""
    try:
        fd = os.open(name, LISTING | os.O_NOFOLLOW, dir_fd=above)
    except OSError:
        yield None
        return
    try:
        yield fd
    finally:
        os.close(fd)


def is_there(name: str, directory: int) -> bool:
    """Say whether a file or link lies in a directory, or below it."""
    try:
        os.stat(name, dir_fd=directory, follow_symlinks=False)
    except OSError:
        return False
    return True


def is_file(name: str, directory: int) -> bool:
    """Say whether a regular file or a link lies in a directory, or below it."""
    try:
        mode = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)
