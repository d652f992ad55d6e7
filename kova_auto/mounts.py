"""Say which directories lie on disks of this machine: whatever is looked up there is there at once.

A network's file system may take for ever to say that a file is not there. A disk of this machine, whose directories
are in memory as a rule, says so in less time than it takes to ask a thread.
"""

from __future__ import annotations

import os
import re
import select
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Final, TypeVar

from kova_auto.threads import aside

T = TypeVar("T")
TABLE: Final = Path("/proc/self/mountinfo")
_OF_DISKS: Final = frozenset(
    {"bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "jfs", "overlay", "ramfs", "reiserfs", "tmpfs", "xfs", "zfs"}
)
_CHUNK_BYTES: Final = 1 << 16
_KNOWN: Final = 1024
_ESCAPED: Final = re.compile(r"\\([0-7]{3})")


class Mounts:
    """Know what is mounted, and read it again when that has changed; safe to use from any thread."""

    def __init__(self, table: Path = TABLE) -> None:
        """Open the kernel's table; where there is none, nothing is known to be near."""
        self._table: int | None = None
        with suppress(OSError):
            self._table = os.open(table, os.O_RDONLY | os.O_CLOEXEC)
        self._changes = select.poll()
        if self._table is not None:
            self._changes.register(self._table, select.POLLPRI)  # So the kernel says that it has changed.
        self._kinds: dict[str, str] = {}
        self._near: dict[str, bool] = {}
        self._lock = Lock()
        self._read()

    def are_near(self, *directories: str) -> bool:
        """Say whether directories, and all that is mounted beneath them, lie on disks of this machine.

        Nothing is touched: what a link leads to is not known.

        Args:
            directories: Absolute and canonical.
        """
        with self._lock:
            if self._changes.poll(0):
                self._read()
            return all(map(self._is_near, directories))

    def _is_near(self, directory: str) -> bool:
        if (known := self._near.get(directory)) is None:
            if len(self._near) >= _KNOWN:
                self._near.clear()
            known = self._near[directory] = self._kinds_of(directory) <= _OF_DISKS
        return known

    def _kinds_of(self, directory: str) -> set[str]:
        """Return the kinds of file system that a directory lies on, and those of what is mounted beneath it."""
        above = [place for place in self._kinds if _lies_in(directory, place)]
        beneath = {kind for place, kind in self._kinds.items() if _lies_in(place, directory)}
        return beneath | {self._kinds[max(above, key=len)] if above else "unknown"}

    def _read(self) -> None:
        self._near.clear()
        self._kinds = {} if self._table is None else dict(_mounted(_whole(self._table)))


def _whole(table: int) -> str:
    """Return what a file holds from its beginning; the kernel gives a table in pieces."""
    os.lseek(table, 0, os.SEEK_SET)
    pieces = iter(lambda: os.read(table, _CHUNK_BYTES), b"")
    return os.fsdecode(b"".join(pieces))


def _mounted(table: str) -> Iterator[tuple[str, str]]:
    """Yield where something is mounted and of what kind it is, in order: what comes last lies on top."""
    for line in table.splitlines():
        place, _, kind = line.partition(" - ")
        yield _ESCAPED.sub(lambda found: chr(int(found[1], 8)), place.split(" ")[4]), kind.partition(" ")[0]


def _lies_in(place: str, top: str) -> bool:
    return place == top or place.startswith(top.rstrip("/") + "/")


@cache
def mounts() -> Mounts:
    """Return what knows this machine's mounts."""
    return Mounts()


async def look(do: Callable[[], T], *directories: str) -> T:
    """Look up what lies in directories: at once where they are near, and aside where it may take a while.

    To ask a thread costs several times as much, and holds the loop up just as long: for the thread to go on, the loop
    has to let go of the interpreter.
    """
    return do() if mounts().are_near(*directories) else await aside(do)
