"""Brings what a run changed in a workspace of its own into the real one: everything that may go, or nothing.

A file of the real workspace is replaced only where it is what the run began with, by hash; each takes its new content
at once, and no link is followed on either side. What a kill left half done is finished by doing it again.

Source: reference on shells, 9.1 and 9.4.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePath

from kova_auto.core.approval.floor import Places, control_of, lies_in
from kova_auto.core.context.memory import is_note
from kova_auto.core.errors import ToolFailedError
from kova_auto.tools.boundary import DIRECTORY, FILE, LISTING, Root, best_resolver, make_directories, open_root
from kova_auto.tools.files import temp_prefix
from kova_auto.tools.isolation.tree import Change, Entry, read_entry
from kova_auto.tools.output import printable
from kova_auto.tools.words import in_words

_CHUNK = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Held:
    """Hold what is not written, or only where a person says so.

    Attributes:
        secret: The user's keys, our settings and our state: never.
        job_dirs: Directories whose job files steer us; like every control path they are written on demand alone.
    """

    secret: Sequence[PurePath] = ()
    job_dirs: Sequence[PurePath] = ()

    def why(self, workspace: PurePath, parts: tuple[str, ...], *, control: bool) -> str:
        """Return why a path is not written; empty where it may be."""
        path = workspace.joinpath(*parts)
        secret = [place for place in self.secret if place == workspace or not lies_in(workspace, (place,))]
        if Places(secret).hold(path):
            return "lies in a place of secrets or settings, which is never written"
        steers = path.name.casefold().endswith(".toml") and path.parent in self.job_dirs
        if not control and (steers or (control_of(parts) and not is_note(parts))):
            return "is a control file, which is written with --control alone"
        return ""


@dataclass(frozen=True, slots=True)
class Plan:
    """Hold what bringing changes over would do; where anything is refused, nothing is done.

    Attributes:
        todo: What is written or removed.
        same: Paths that are so already.
        refused: A sentence for each path that cannot be written.
    """

    todo: tuple[Change, ...] = ()
    same: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


def plan(changes: Sequence[Change], workspace: Path, held: Held, *, control: bool = False) -> Plan:
    """Look at what bringing changes over would do; writes nothing.

    Raises:
        ToolFailedError: The workspace is not there.
    """
    todo: list[Change] = []
    same: list[str] = []
    refused: list[str] = []
    with _opened(workspace) as root:
        for change in changes:
            if why := held.why(workspace, change.parts, control=control):
                refused.append(f"{printable(change.path)} {why}")
                continue
            try:
                now = _now(root, change.parts)
            except OSError as exc:
                refused.append(in_words(exc, printable(change.path)))
                continue
            if _is(now, change.after):
                same.append(change.path)
            elif _is(now, change.before) or _makes_room(now, change, changes):
                todo.append(change)
            else:
                refused.append(f"{printable(change.path)} {_why(now, change)}")
    return Plan(tuple(todo), tuple(same), tuple(refused))


def _makes_room(now: Entry | None, change: Change, changes: Sequence[Change]) -> bool:
    """Say whether a directory stands where the run has a file, and the run removed what was in it."""
    if now is not _OTHER or change.before is not None:
        return False
    return any(other.after is None and other.path.startswith(f"{change.path}/") for other in changes)


def _why(now: Entry | None, change: Change) -> str:
    if now is None:
        return "is not in the workspace any more"
    return "has changed in the workspace since the run began" if change.before else "is in the workspace by now"


class _Other(Entry):
    """Stand for what is neither file nor link."""


_OTHER = _Other(is_link=False, content="")


def _now(root: Root, parts: tuple[str, ...]) -> Entry | None:
    """Return what a path of the workspace holds now."""
    try:
        directory = root.open(parts[:-1], DIRECTORY)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        return _entry(parts[-1], directory)
    finally:
        os.close(directory)


def _entry(name: str, directory: int) -> Entry | None:
    if entry := read_entry(name, directory):
        return entry
    try:
        os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return _OTHER


def _is(one: Entry | None, other: Entry | None) -> bool:
    """Say whether two entries are the same to whoever uses them; other permissions than to execute do not count."""
    if one is None or other is None or one is _OTHER:
        return one is other
    return (one.is_link, one.content, one.runs) == (other.is_link, other.content, other.runs)


def apply(changes: Sequence[Change], tree: Path, workspace: Path, tag: str) -> None:
    """Write what was planned, file by file: what is to go first, so that it is in nothing's way.

    Args:
        changes: The plan's.
        tree: The run's own workspace.
        workspace: The real one.
        tag: Tells this run's temporary files apart.

    Raises:
        ToolFailedError: One of them cannot be written, or was changed just now; those before it are.
    """
    removed = [change for change in changes if change.after is None]
    written = [(change, change.after) for change in changes if change.after is not None]
    with _opened(workspace) as root, _opened(tree) as source:
        for change in sorted(removed, key=lambda change: change.parts, reverse=True):
            _remove(root, source, change)
        for change, after in written:
            _write(root, source, change, after, temp_prefix(tag) + secrets.token_hex(8))


def _remove(root: Root, source: Root, change: Change) -> None:
    with _at(root, change, make=False) as directory:
        os.unlink(change.parts[-1], dir_fd=directory)
        os.fsync(directory)
    for end in range(len(change.parts) - 1, 0, -1):
        if not _empty_and_gone(root, source, change.parts[:end]):
            return


def _empty_and_gone(root: Root, source: Root, parts: tuple[str, ...]) -> bool:
    """Remove a directory that nothing is left in, unless the run still has it; say whether it was removed."""
    with suppress(OSError):
        os.close(source.open(parts, DIRECTORY))
        return False
    try:
        directory = root.open(parts[:-1], DIRECTORY)
    except OSError:
        return False
    try:
        os.rmdir(parts[-1], dir_fd=directory)
    except OSError:
        return False
    finally:
        os.close(directory)
    return True


def _write(root: Root, source: Root, change: Change, after: Entry, temp: str) -> None:
    with _at(root, change, make=True) as directory:
        try:
            if after.is_link:
                os.symlink(after.content, temp, dir_fd=directory)
            else:
                _copy(source, change, after, directory, temp)
            _give(directory, temp, change.parts[-1])
            os.rename(temp, change.parts[-1], src_dir_fd=directory, dst_dir_fd=directory)
        except BaseException:
            with suppress(OSError):
                os.unlink(temp, dir_fd=directory)
            raise
        os.fsync(directory)


def _copy(source: Root, change: Change, after: Entry, directory: int, temp: str) -> None:
    mode = _mode_of(change, after, directory)
    fd = source.open(change.parts, FILE)
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        target = os.open(temp, flags, 0o600, dir_fd=directory)
        try:
            digest = hashlib.sha256()
            while chunk := os.read(fd, _CHUNK):
                digest.update(chunk)
                _write_all(target, chunk)
            if digest.hexdigest() != after.content:
                message = f"{printable(change.path)} was changed by somebody else just now; try again"
                raise ToolFailedError(message)
            os.fchmod(target, mode)
            os.fsync(target)
        finally:
            os.close(target)
    finally:
        os.close(fd)


def _write_all(fd: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(fd, left) :]


def _mode_of(change: Change, after: Entry, directory: int) -> int:
    """Return the permission bits of what is written: those of the file there, where the run changed none."""
    before = change.before
    kept = before is not None and not before.is_link and before.mode == after.mode
    now = read_entry(change.parts[-1], directory) if kept else None
    return now.mode if now else after.mode


def _give(directory: int, temp: str, name: str) -> None:
    """Let a file that root writes belong to whom the one before did, or the directory does."""
    if os.geteuid() != 0:
        return
    try:
        like = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        like = os.fstat(directory)
    os.chown(temp, like.st_uid, like.st_gid, dir_fd=directory, follow_symlinks=False)


@contextmanager
def _at(root: Root, change: Change, *, make: bool) -> Iterator[int]:
    """Hold a change's directory open, where the path is still what it was when it was looked at."""
    shown = printable(change.path)
    try:
        above = make_directories(root, change.parts[:-1]) if make else root.open(change.parts[:-1], DIRECTORY)
        try:
            directory = os.open(".", LISTING, dir_fd=above)
        finally:
            os.close(above)
        try:
            if not _is(_cleared(directory, change), change.before):
                message = f"{shown} was changed by somebody else just now; try again"
                raise ToolFailedError(message)
            yield directory
        finally:
            os.close(directory)
    except OSError as exc:
        raise ToolFailedError(in_words(exc, shown)) from exc


def _cleared(directory: int, change: Change) -> Entry | None:
    """Return what the path holds; an empty directory in a new file's place, whose files have gone, goes too."""
    now = _entry(change.parts[-1], directory)
    if now is _OTHER and change.before is None:
        with suppress(OSError):
            os.rmdir(change.parts[-1], dir_fd=directory)
            return None
    return now


@contextmanager
def _opened(path: Path) -> Iterator[Root]:
    try:
        root = open_root(str(path), best_resolver())
    except OSError as exc:
        raise ToolFailedError(in_words(exc, str(path))) from exc
    try:
        yield root
    finally:
        root.close()
