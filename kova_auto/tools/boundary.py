"""Opens what lies beneath a directory, through that directory's descriptor, so that no name can lead out of it.

A root is pinned once: whatever its name means later, we stay in the directory that was opened. Nothing is checked
first and opened afterwards. Two methods give the same answers: one system call of Linux (`openat2`), and a walk that
opens one component after the other. What is mounted below a root belongs to it: mounting needs an administrator.

Source: reference on shells, 9.1.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import platform
import stat
import sys
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

_SYS_OPENAT2 = 437
_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08
_TRIES = 64
_MAX_LINKS = 40

# Where there is no O_PATH, a directory is opened for reading.
PATH_ONLY: int = getattr(os, "O_PATH", os.O_RDONLY)
DIRECTORY = PATH_ONLY | os.O_DIRECTORY | os.O_CLOEXEC
LISTING = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# Without O_NONBLOCK, opening a FIFO waits for ever.
FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class Resolver(Protocol):
    """Open a path beneath a directory, or fail; both methods raise the same `OSError`."""

    def __call__(self, directory: int, parts: Sequence[str], flags: int, *, follow: bool) -> int:
        """Return a descriptor, which the caller closes.

        Args:
            directory: Descriptor of the directory to stay beneath.
            parts: Components; none means the directory itself.
            flags: As of `os.open`; nothing is ever created.
            follow: Relative symbolic links that stay beneath are followed; otherwise there may be none at all.

        Raises:
            OSError: EXDEV where it leads out, ELOOP where a link may not be followed, or what opening says.
        """


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


@lru_cache(maxsize=1)
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def openat2_beneath(directory: int, parts: Sequence[str], flags: int, *, follow: bool) -> int:
    """Open by one system call; see `Resolver`."""
    path = "/".join(parts) or "."
    how = _How(flags=flags, mode=0, resolve=_BENEATH | _NO_MAGICLINKS | (0 if follow else _NO_SYMLINKS))
    code = errno.EAGAIN
    for _ in range(_TRIES):  # EAGAIN: something was renamed while `..` was resolved
        fd: int = _libc().syscall(
            ctypes.c_long(_SYS_OPENAT2),
            ctypes.c_int(directory),
            ctypes.c_char_p(os.fsencode(path)),
            ctypes.byref(how),
            ctypes.c_size_t(ctypes.sizeof(how)),
        )
        if fd >= 0:
            return fd
        code = ctypes.get_errno()
        if code not in (errno.EAGAIN, errno.EINTR):
            break
    raise OSError(code, os.strerror(code), path)


def walk_beneath(directory: int, parts: Sequence[str], flags: int, *, follow: bool) -> int:
    """Open component by component, following no link blindly; see `Resolver`."""
    stack, todo, links = [os.dup(directory)], deque(parts), 0
    try:
        while todo:
            name = todo.popleft()
            if name in (".", ""):
                continue
            if name == "..":
                _leave(stack, parts)
                continue
            try:
                fd = _step(stack[-1], name, flags if not todo else DIRECTORY)
            except OSError as exc:
                target = _link(stack[-1], name, exc)
                links += 1
                if not follow or links > _MAX_LINKS:
                    raise _error(errno.ELOOP, parts) from exc
                if target.startswith("/"):
                    raise _error(errno.EXDEV, parts) from exc
                todo.extendleft(reversed(target.split("/")))
                continue
            if not todo:
                return fd
            stack.append(fd)
        return os.open(".", flags, dir_fd=stack[-1])
    finally:
        for fd in stack:
            os.close(fd)


def _step(directory: int, name: str, flags: int) -> int:
    """Open one component that is no link; a link is an error, also where O_PATH would open the link itself."""
    fd = os.open(name, flags | os.O_NOFOLLOW, dir_fd=directory)
    if stat.S_ISLNK(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
    return fd


def _link(directory: int, name: str, failure: OSError) -> str:
    """Return where the link points that could not be opened; raise the failure where it was no link."""
    try:
        return os.readlink(name, dir_fd=directory)
    except OSError:
        raise failure from None


def _leave(stack: list[int], parts: Sequence[str]) -> None:
    if len(stack) == 1:
        raise _error(errno.EXDEV, parts)
    os.close(stack.pop())


def _error(code: int, parts: Sequence[str]) -> OSError:
    return OSError(code, os.strerror(code), "/".join(parts))


@lru_cache(maxsize=1)
def best_resolver() -> Resolver:
    """Return the method that works here."""
    if sys.platform == "linux" and platform.machine() in ("x86_64", "aarch64"):
        slash = os.open("/", DIRECTORY)
        try:
            os.close(openat2_beneath(slash, (), DIRECTORY, follow=False))
        except OSError:
            return walk_beneath
        else:
            return openat2_beneath
        finally:
            os.close(slash)
    return walk_beneath


@dataclass(frozen=True, slots=True)
class Root:
    """Hold one directory open.

    Attributes:
        path: Absolute and canonical, when it was opened.
        identity: Device and inode.
        owner: User id.
    """

    path: str
    fd: int
    identity: tuple[int, int]
    owner: int
    resolve: Resolver

    def open(self, parts: Sequence[str], flags: int, *, follow: bool = False) -> int:
        """Open what lies beneath; the caller closes it.

        Raises:
            OSError: See `Resolver`.
        """
        return self.resolve(self.fd, parts, flags, follow=follow)

    def is_still(self) -> bool:
        """Say whether the name still means the directory that was opened."""
        try:
            now = os.lstat(self.path)
        except OSError:
            return False
        return (now.st_dev, now.st_ino) == self.identity

    def close(self) -> None:
        """Close the descriptor, once."""
        os.close(self.fd)


def is_missing(path: str, folder: int | None = None) -> bool:
    """Say whether nothing has this name, which is not followed; what cannot be looked at may be there.

    Args:
        path: Where to look.
        folder: An open directory at which a relative path begins.
    """
    try:
        os.lstat(path, dir_fd=folder)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return False


def open_root(path: str, resolve: Resolver) -> Root:
    """Pin a directory.

    Args:
        path: Absolute and canonical: no component of it may be a symbolic link.
        resolve: The method for everything below.

    Raises:
        OSError: There is no such directory, or a link is in the way.
    """
    slash = os.open("/", DIRECTORY)
    try:
        fd = resolve(slash, [part for part in path.split("/") if part], DIRECTORY, follow=False)
    finally:
        os.close(slash)
    found = os.fstat(fd)
    return Root(path, fd, (found.st_dev, found.st_ino), found.st_uid, resolve)


def make_directories(root: Root, parts: Sequence[str]) -> int:
    """Open a directory beneath, making what is missing of it one by one; the caller closes it.

    Raises:
        OSError: A link or something else is in the way.
    """
    here = os.dup(root.fd)
    for part in parts:
        try:
            below = _make_directory(root, here, part)
        finally:
            os.close(here)
        here = below
    return here


def _make_directory(root: Root, here: int, part: str) -> int:
    try:
        return root.resolve(here, [part], DIRECTORY, follow=False)
    except FileNotFoundError:
        with suppress(FileExistsError):  # somebody else was faster; what is there is opened like any other
            os.mkdir(part, dir_fd=here)
        return root.resolve(here, [part], DIRECTORY, follow=False)


def real_path(fd: int) -> str | None:
    """Return the path under which the kernel knows an open file, or None where it does not tell."""
    if sys.platform == "darwin":
        return os.fsdecode(fcntl.fcntl(fd, fcntl.F_GETPATH, b"\0" * 1024).rstrip(b"\0"))
    try:
        return os.readlink(f"/proc/self/fd/{fd}")  # noqa: PTH115  # A path's parts are not asked for.
    except OSError:
        return None
