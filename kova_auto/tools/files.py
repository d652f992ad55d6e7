"""Reads whole files and replaces them at once, through the boundary.

A write goes to a new file beside the old one, which then takes its name: a reader sees the old content or the new,
and a link that was planted under the name is replaced instead of followed.

Source: reference on shells, 9.1 (4) to (7); 9.2, cases 23 to 27 and 47 to 60.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from kova_auto.core.errors import ToolFailedError
from kova_auto.core.ids import BlobHash, blob_hash
from kova_auto.tools.boundary import DIRECTORY, FILE, LISTING, make_directories
from kova_auto.tools.roots import Roots, Target
from kova_auto.tools.words import kind_of

MAX_READ_BYTES = 32 * 1024 * 1024
MAX_WRITE_BYTES = 8 * 1024 * 1024
SMALL_BYTES = 256 * 1024

_CHUNK = 1024 * 1024
_KEPT_BITS = 0o777
_TEMP = ".kova-auto-"


@dataclass(frozen=True, slots=True)
class Content:
    """Hold a file as it was read; `path` is canonical, `mode` its permission bits."""

    path: str
    data: bytes
    mode: int
    owner: int
    group: int

    @property
    def hash(self) -> BlobHash:
        """Return the content's hash."""
        return blob_hash(self.data)


def read_file(roots: Roots, target: Target, *, limit: int = MAX_READ_BYTES) -> Content:
    """Read a whole file.

    Raises:
        ToolFailedError: It cannot be read, is no regular file, is held by the floor, or is larger than the limit.
    """
    with _opened(roots, target) as (fd, path):
        return _content(fd, path, target, limit)


def read_if_small(roots: Roots, target: Target) -> Content | None:
    """Read a whole file that is small; None where it is not, so that reading it takes a while.

    Raises:
        ToolFailedError: As `read_file`.
    """
    with _opened(roots, target) as (fd, path):
        return _content(fd, path, target, SMALL_BYTES) if os.fstat(fd).st_size <= SMALL_BYTES else None


@contextmanager
def _opened(roots: Roots, target: Target) -> Iterator[tuple[int, str]]:
    """Give a file open for reading, and its path."""
    _wants_file_name(target)
    with roots.plainly(target):
        fd = target.open(FILE)
        try:
            yield fd, roots.guard(target, fd)
        finally:
            os.close(fd)


def _wants_file_name(target: Target) -> None:
    if target.directory or not target.parts:
        message = f"{target.shown} names a directory; wanted a file"
        raise ToolFailedError(message)


def _content(fd: int, path: str, target: Target, limit: int) -> Content:
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode):
        message = f"{target.shown} is {kind_of(found.st_mode)}; wanted a file"
        raise ToolFailedError(message)
    data = b"" if found.st_size > limit else read_all(fd, limit)
    if (size := max(found.st_size, len(data))) > limit:
        message = f"{target.shown} has {size} bytes; this tool takes at most {limit}"
        raise ToolFailedError(message)
    return Content(path, data, found.st_mode & _KEPT_BITS, found.st_uid, found.st_gid)


def read_all(fd: int, limit: int) -> bytes:
    """Read an open file from where it stands, at most one byte more than the limit."""
    chunks, left = [], limit + 1
    while left > 0 and (chunk := os.read(fd, min(left, _CHUNK))):
        chunks.append(chunk)
        left -= len(chunk)
    return b"".join(chunks)


def read_small(name: str, directory: int | None = None, *, limit: int = 1024 * 1024, follow: bool = False) -> bytes:
    """Return the content of a file that programs leave for each other; nothing where it cannot be had.

    Nothing waits here: a FIFO in its place is no file.

    Args:
        name: Relative to the open directory, or absolute.
        directory: Descriptor.
        limit: A file of more bytes is none.
        follow: Whether the name may be a link.
    """
    try:
        fd = os.open(name, FILE | (0 if follow else os.O_NOFOLLOW), dir_fd=directory)
    except (OSError, ValueError):
        return b""
    try:
        found = os.fstat(fd)
        data = read_all(fd, limit) if stat.S_ISREG(found.st_mode) and found.st_size <= limit else b""
    except OSError:
        return b""
    else:
        return data if len(data) <= limit else b""
    finally:
        os.close(fd)


def existing(roots: Roots, target: Target) -> Content | None:
    """Return the file that a write would replace, or None where there is none.

    Raises:
        ToolFailedError: The file, or where it would lie, is none that a tool may change.
    """
    roots.guard_write(target)
    _wants_file_name(target)
    with roots.plainly(target):
        try:
            directory = target.root.open(target.parts[:-1], DIRECTORY)
        except FileNotFoundError:
            return None
        try:
            return _changeable(directory, target)
        finally:
            os.close(directory)


def _changeable(directory: int, target: Target) -> Content | None:
    """Read the file that is to be replaced, if it is ours alone."""
    _wants_ours(os.fstat(directory).st_uid, target, what="its directory", also={0, target.root.owner})
    try:
        fd = os.open(target.name, FILE | os.O_NOFOLLOW, dir_fd=directory)
    except FileNotFoundError:
        return None
    try:
        content = _content(fd, target.path, target, MAX_WRITE_BYTES)
        _wants_plain(os.fstat(fd), target)
    finally:
        os.close(fd)
    return content


def _wants_ours(owner: int, target: Target, *, what: str, also: AbstractSet[int] = frozenset()) -> None:
    """Refuse what belongs to another user, who may have put it there for us to change."""
    me = os.geteuid()
    as_root = {target.root.owner} if me == 0 else set()  # who then keeps what is theirs
    if owner not in {me} | as_root | also:
        message = f"{target.shown} is not changed: {what} belongs to user {owner}"
        raise ToolFailedError(message)


def _wants_plain(found: os.stat_result, target: Target) -> None:
    """Refuse what a replacement would not leave as it is."""
    _wants_ours(found.st_uid, target, what="it")
    why = ""
    if found.st_nlink > 1:
        why = f"it has {found.st_nlink} names (hard links), some of them maybe elsewhere"
    elif found.st_mode & (stat.S_ISUID | stat.S_ISGID):
        why = "it runs as its owner (setuid or setgid)"
    elif not found.st_mode & stat.S_IWUSR:
        why = "it is read-only"
    if why:
        message = f"{target.shown} is not changed: {why}"
        raise ToolFailedError(message)


def temp_prefix(tag: str) -> str:
    """Return how the temporary files of a call begin; `tag` tells calls apart."""
    return f"{_TEMP}{blob_hash(tag.encode())[:12]}-"


def replace_file(
    roots: Roots, target: Target, data: bytes, *, before: BlobHash | None, tag: str, mode: int | None = None
) -> None:
    """Give a file new content at once, making the directories that are missing.

    Args:
        roots: The floor.
        target: What is written.
        data: All of it.
        before: Hash of what is to be replaced; None where there is to be no file.
        tag: Of the call, so that what it left behind when it was killed can be found.
        mode: Permission bits; None keeps those of the file, or takes the usual ones.

    Raises:
        ToolFailedError: What is there is not what is to be replaced, or it cannot be written.
    """
    if len(data) > MAX_WRITE_BYTES:
        message = f"{target.shown} would have {len(data)} bytes; this tool writes at most {MAX_WRITE_BYTES}"
        raise ToolFailedError(message)
    roots.guard_write(target)
    with _parent(roots, target, make=True) as directory:
        found = _wants(directory, target, before)
        bits = mode if mode is not None else found.mode if found else None
        _swap(directory, target.name, data, temp=temp_prefix(tag) + secrets.token_hex(8), mode=bits, like=found)


def remove_file(roots: Roots, target: Target, *, before: BlobHash) -> None:
    """Remove a file.

    Raises:
        ToolFailedError: What is there is not what is to be removed, or it cannot be.
    """
    roots.guard_write(target)
    with _parent(roots, target, make=False) as directory:
        _wants(directory, target, before)
        os.unlink(target.name, dir_fd=directory)
        os.fsync(directory)


def remove_leftovers(roots: Roots, target: Target, tag: str) -> None:
    """Remove the temporary files that a killed call left beside its target. Calling twice is safe."""
    with suppress(ToolFailedError), _parent(roots, target, make=False) as directory:
        with os.scandir(directory) as entries:
            left = [entry.name for entry in entries if entry.name.startswith(temp_prefix(tag))]
        for name in left:
            with suppress(OSError):
                os.unlink(name, dir_fd=directory)


def _wants(directory: int, target: Target, before: BlobHash | None) -> Content | None:
    found = _changeable(directory, target)
    if (found.hash if found else None) != before:
        message = f"{target.shown} was changed by somebody else just now; read it again"
        raise ToolFailedError(message)
    return found


@contextmanager
def _parent(roots: Roots, target: Target, *, make: bool) -> Iterator[int]:
    """Hold the target's directory open, for reading: it is written to the disk with what it holds."""
    parts = target.parts[:-1]
    with roots.plainly(target):
        above = make_directories(target.root, parts) if make else target.root.open(parts, DIRECTORY)
        try:
            directory = os.open(".", LISTING, dir_fd=above)
        finally:
            os.close(above)
        try:
            yield directory
        finally:
            os.close(directory)


def _swap(directory: int, name: str, data: bytes, *, temp: str, mode: int | None, like: Content | None) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(temp, flags, 0o666, dir_fd=directory)
    try:
        try:
            with os.fdopen(fd, "wb", closefd=False) as file:
                file.write(data)
            if like is not None and like.owner != os.geteuid():
                os.fchown(fd, like.owner, like.group)
            if mode is not None:
                os.fchmod(fd, mode & _KEPT_BITS)
            os.fsync(fd)
        finally:
            os.close(fd)
        os.rename(temp, name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        with suppress(OSError):
            os.unlink(temp, dir_fd=directory)
        raise
    os.fsync(directory)
