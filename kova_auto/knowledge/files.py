"""Read and write small text files: a user's own, this machine's, and those of a workspace, which nobody trusts.

Nothing waits here on a FIFO, reads a device, or reads more than a document may hold.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kova_auto.core.errors import ConfigError

MAX_BYTES = 256 * 1024

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# Without O_NONBLOCK, opening a FIFO waits for ever.
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def read_trusted(path: Path, *, follow: bool) -> str | None:
    """Return the text of a file that grants something; None where there is none.

    Args:
        path: The file.
        follow: A link may lead to it: people keep such files in a repository of their own.

    Raises:
        ConfigError: It is no text that can be read, or somebody else may have written it.
    """
    try:
        fd = os.open(path, _FILE | (0 if follow else os.O_NOFOLLOW))
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise _unreadable(path, exc) from exc
    try:
        status = os.fstat(fd)
        if status.st_uid not in (os.geteuid(), 0):
            message = f"wanted a file of the service's own user, found one of user {status.st_uid}"
            raise _refused(path, message, "chown it")
        if status.st_mode & stat.S_IWOTH:
            raise _refused(path, "wanted a file that not everybody may write", f"chmod o-w {path}")
        return _text(fd, path)
    finally:
        os.close(fd)


def read_beneath(folder: Path, *names: str) -> str | None:
    """Return the text of a file in a directory that anybody may have filled; None where there is none.

    No link is followed, and no second name of a file elsewhere is read.

    Raises:
        ConfigError: It is no such text.
    """
    path = folder.joinpath(*names)
    try:
        fd = _open_beneath(folder, names)
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise _unreadable(path, exc) from exc
    try:
        status = os.fstat(fd)
        if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
            raise _refused(path, "wanted a file with one name, found one with several", "copy it")
        return _text(fd, path)
    finally:
        os.close(fd)


def names_beneath(folder: Path, *names: str) -> tuple[str, ...]:
    """Return what lies in a directory that anybody may have filled, in order; nothing where there is none.

    No link is followed below the first directory.

    Raises:
        ConfigError: It is no directory that can be listed.
    """
    path = folder.joinpath(*names)
    try:
        fd = _open_beneath(folder, names)
    except FileNotFoundError:
        return ()
    except OSError as exc:
        raise _unreadable(path, exc) from exc
    try:
        with os.scandir(fd) as entries:
            return tuple(sorted(entry.name for entry in entries))
    except OSError as exc:
        raise _unreadable(path, exc) from exc
    finally:
        os.close(fd)


def write_whole(path: Path, text: str, *, mode: int = 0o600) -> None:
    """Put a text in the place of a file, at once and for good: whoever reads sees the old one or the new one.

    Raises:
        ConfigError: It cannot be written; the old one is as it was.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with suppress(FileNotFoundError):
            temporary.unlink()  # of a process of the same number that died
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(fd)
        temporary.replace(path)
        _sync(path.parent)
    except (OSError, UnicodeEncodeError) as exc:
        with suppress(OSError):
            temporary.unlink()
        why = exc.strerror if isinstance(exc, OSError) else exc
        message = f"cannot be written: {why}"
        raise ConfigError(message, path=str(path)) from exc


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Be the only writer of a directory's files, making it (for its owner alone) where it is not there.

    Raises:
        ConfigError: It cannot be made or locked.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        fd = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as exc:
        message = f"cannot be written: {exc.strerror}"
        raise ConfigError(message, path=str(folder)) from exc
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)  # held for the writing of one small file
        yield
    finally:
        os.close(fd)


def _open_beneath(folder: Path, names: tuple[str, ...]) -> int:
    here = os.open(folder, _FOLDER)
    for at, name in enumerate(names, 1):
        try:
            below = os.open(name, (_FILE if at == len(names) else _FOLDER) | os.O_NOFOLLOW, dir_fd=here)
        finally:
            os.close(here)
        here = below
    return here


def _text(fd: int, path: Path) -> str:
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        raise _refused(path, "wanted an ordinary file", "")
    data = b""
    while len(data) <= MAX_BYTES and (piece := os.read(fd, MAX_BYTES + 1 - len(data))):
        data += piece
    if len(data) > MAX_BYTES:
        raise _refused(path, f"wanted at most {MAX_BYTES // 1024} KiB, found more", "")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        message = f"wanted text in UTF-8, found byte {data[exc.start]:#04x} at {exc.start}"
        raise _refused(path, message, "") from exc


def _sync(folder: Path) -> None:
    fd = os.open(folder, _FOLDER)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _unreadable(path: Path, exc: OSError) -> ConfigError:
    if exc.errno == errno.ELOOP:
        return _refused(path, "wanted a file of its own, found a symbolic link: none is followed here", "copy the file")
    return _refused(path, f"wanted a file that can be read: {exc.strerror or exc}", "")


def _refused(path: Path, message: str, hint: str) -> ConfigError:
    return ConfigError(message, path=str(path), hint=hint or "nothing of it counts")
