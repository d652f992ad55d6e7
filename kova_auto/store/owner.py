"""Who may write to a data directory: the one process that holds the lock in it.

The kernel holds the lock, so it is let go with its process, however that ends: it cannot be stale.
"""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from kova_auto.core.errors import JournalError

LOCK_FILE = "owner.lock"


@dataclass(frozen=True, slots=True)
class OwnedBy:
    """Say which process owns the directory, as far as it has said so; for messages only."""

    pid: int | None
    kind: str


class Owner:
    """Own a data directory until `release`, or until this process ends."""

    def __init__(self, fd: int) -> None:
        """Keep the descriptor that holds the lock; programs that are started do not inherit it."""
        self._fd: int | None = fd

    def release(self) -> None:
        """Let go of the lock; safe to call twice. The file stays: removing it would let two processes in."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.release()


def acquire_owner(data_dir: Path, *, kind: str) -> Owner | OwnedBy:
    """Take the directory, or say who has it; makes it (readable by its owner only) where it is not there.

    Args:
        data_dir: The data directory.
        kind: What this process is, in one word for messages, as `serve`.

    Raises:
        JournalError: The directory cannot be made or locked.
    """
    try:
        data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        fd = os.open(data_dir / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as exc:
        msg = f"the data directory {data_dir} cannot be written: {exc.strerror}"
        raise JournalError(msg) from exc
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return _holder(fd)
    os.ftruncate(fd, 0)
    os.pwrite(fd, f"{os.getpid()} {kind}\n".encode(), 0)
    return Owner(fd)


def _holder(fd: int) -> OwnedBy:
    with os.fdopen(fd, "rb") as file:
        pid, _, kind = file.read(200).decode(errors="replace").strip().partition(" ")
    return OwnedBy(int(pid) if pid.isdecimal() else None, kind)
