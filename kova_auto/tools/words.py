"""Says in words why a path could not be used."""

from __future__ import annotations

import errno
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from kova_auto.core.errors import ToolFailedError


@contextmanager
def plainly(shown: str) -> Iterator[None]:
    """Turn what the system says about a path into an error that the model can read."""
    try:
        yield
    except OSError as exc:
        raise ToolFailedError(in_words(exc, shown)) from exc


_WORDS = {
    errno.ENOENT: "there is no {}",
    errno.ENOTDIR: "{}: one of its components is no directory",
    errno.EISDIR: "{} is a directory",
    errno.EACCES: "{} may not be opened: the service's user has no permission",
    errno.EPERM: "{} may not be changed: the system forbids it",
    errno.EXDEV: "{} passes through a symbolic link that leads out",
    errno.ELOOP: "{} passes through a symbolic link",
    errno.ENXIO: "{} is no ordinary file",
    errno.ENOSPC: "{} cannot be written: no space is left on the device",
    errno.EDQUOT: "{} cannot be written: the disk quota is used up",
    errno.EROFS: "{} lies on a read-only file system",
}


def in_words(exc: OSError, shown: str) -> str:
    """Return what the system says about a path as a sentence."""
    known = _WORDS.get(exc.errno or 0)
    return known.format(shown) if known else f"{shown}: {exc.strerror or exc}"


def kind_of(mode: int) -> str:
    """Return what a file that is no regular one is called."""
    kinds = {
        stat.S_IFDIR: "a directory",
        stat.S_IFIFO: "a FIFO",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
        stat.S_IFLNK: "a symbolic link",
    }
    return kinds.get(stat.S_IFMT(mode), "no ordinary file")
