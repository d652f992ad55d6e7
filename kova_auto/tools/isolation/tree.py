"""Reads what lies in a directory tree as hashes, and tells two readings apart.

Git's own directories are left out at any depth, and so is what is neither file nor link: neither is brought from one
tree into another, and no more are the versions of a memory's notes. Directories count by what is in them alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kova_auto.core.context.memory import BENEATH, HISTORY, TRASH
from kova_auto.core.errors import ToolFailedError
from kova_auto.tools.boundary import FILE
from kova_auto.tools.words import plainly

SMALL_BYTES = 1024 * 1024
"""Of a file of at most so many bytes, what it held at first is kept, so that a diff can show it."""

_GIT = ".git"
_MEMORY = "/".join(BENEATH) + "/"
_CHUNK = 1024 * 1024
_BITS = 0o777


@dataclass(frozen=True, slots=True)
class Entry:
    """Hold what is known of one file or link.

    Attributes:
        content: SHA-256 of a file's bytes; where a link leads.
        mode: Permission bits of a file.
    """

    is_link: bool
    content: str
    mode: int = 0
    size: int = 0

    @property
    def runs(self) -> bool:
        """Say whether its owner may execute it."""
        return bool(self.mode & stat.S_IXUSR)


@dataclass(frozen=True, slots=True)
class Change:
    """Hold what became of one path, relative to its tree; None stands for nothing there."""

    path: str
    before: Entry | None
    after: Entry | None

    @property
    def parts(self) -> tuple[str, ...]:
        """Return the path's components."""
        return tuple(self.path.split("/"))


Tree = Mapping[str, Entry]
Keep = Callable[[str, bytes], None]


def read_tree(top: Path, keep: Keep | None = None) -> dict[str, Entry]:
    """Return what lies in a tree, by paths relative to it.

    Args:
        top: The tree; no link in it is followed.
        keep: Takes hash and content of each small file.

    Raises:
        ToolFailedError: Something in it cannot be read.
    """
    found: dict[str, Entry] = {}
    with plainly(str(top)):
        for here, folders, names, fd in os.fwalk(top, onerror=_raise):
            prefix = "" if here == str(top) else os.path.relpath(here, top) + "/"
            passed = (_GIT, HISTORY, TRASH) if prefix == _MEMORY else (_GIT,)
            folders[:] = sorted(name for name in folders if name not in passed)
            for name in (*names, *folders):
                if name != _GIT and (entry := read_entry(name, fd, keep)):
                    found[prefix + name] = entry
    return found


def _raise(exc: OSError) -> None:
    raise exc


def read_entry(name: str, directory: int, keep: Keep | None = None) -> Entry | None:
    """Return what a name in an open directory stands for; None where it is neither file nor link, or nothing.

    Raises:
        OSError: It cannot be read.
    """
    try:
        mode = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
        if stat.S_ISLNK(mode):
            return Entry(is_link=True, content=os.readlink(name, dir_fd=directory))
        return _file(name, directory, keep) if stat.S_ISREG(mode) else None
    except FileNotFoundError:
        return None


def _file(name: str, directory: int, keep: Keep | None) -> Entry | None:
    fd = os.open(name, FILE | os.O_NOFOLLOW, dir_fd=directory)
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            return None
        digest, size, first = hashlib.sha256(), 0, b""
        while chunk := os.read(fd, _CHUNK):
            first, size = first or chunk, size + len(chunk)
            digest.update(chunk)
    finally:
        os.close(fd)
    content = digest.hexdigest()
    if keep and size <= SMALL_BYTES and size == len(first):
        keep(content, first)
    return Entry(is_link=False, content=content, mode=info.st_mode & _BITS, size=size)


def differences(before: Tree, after: Tree) -> Iterator[Change]:
    """Yield the paths that differ, in their order."""
    for path in sorted(before.keys() | after.keys()):
        was, now = before.get(path), after.get(path)
        if was != now:
            yield Change(path, was, now)


def dump_tree(tree: Tree) -> str:
    """Return a tree as text, names that are no UTF-8 included."""
    return json.dumps({path: (one.is_link, one.content, one.mode, one.size) for path, one in tree.items()})


def load_tree(text: str) -> dict[str, Entry]:
    """Return the tree that a text holds.

    Raises:
        ToolFailedError: It holds none.
    """
    try:
        return {path: Entry(*fields) for path, fields in json.loads(text).items()}
    except (ValueError, TypeError, AttributeError) as exc:
        message = f"what the workspace held at first was not written down: {exc}"
        raise ToolFailedError(message) from exc
