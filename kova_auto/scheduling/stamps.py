"""Tell whether files have changed, without reading them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from kova_auto.scheduling.jobfiles import is_job_file, no_directory

Stamp = tuple[int, ...]
"""Size, times of the last writing and of the last change, inode: another once a file was written or replaced."""

GONE: Final[Stamp] = ()
SETTLE_NS: Final = 500_000_000
"""A file that was written later than so long ago may be half-written."""


@dataclass(frozen=True, slots=True)
class Look:
    """Hold the stamps of all files in a directory of job files, by path."""

    stamps: dict[str, Stamp]

    @property
    def jobs(self) -> list[str]:
        """Return the paths of the job files, by name."""
        return sorted(path for path in self.stamps if is_job_file(path.rpartition("/")[2]))

    def stamp(self, path: str) -> Stamp:
        """Return a file's stamp, wherever it is; `GONE` where there is none."""
        found = self.stamps.get(path)
        return stamp(path) if found is None else found

    def of(self, paths: Iterable[str]) -> tuple[Stamp, ...]:
        """Return the stamps of some files."""
        return tuple([self.stamp(path) for path in paths])


def look(directory: Path) -> Look:
    """Ask for the sizes and times of the files in a directory; ten thousand of them take some hundredths of a second.

    Raises:
        ConfigError: There is no such directory.
    """
    try:
        with os.scandir(directory) as entries:
            return Look({entry.path: _of_entry(entry) for entry in entries})
    except OSError as exc:
        raise no_directory(directory, exc) from exc


def stamp(path: str) -> Stamp:
    """Return a file's stamp as it is now."""
    try:
        return _stamp(Path(path).stat())
    except (OSError, ValueError):
        return GONE


def is_young(found: Iterable[Stamp], now: datetime) -> bool:
    """Say whether somebody may still be writing one of these files; a time to come says nothing."""
    now_ns = int(now.timestamp() * 1e9)
    return any(one and 0 <= now_ns - one[1] < SETTLE_NS for one in found)


def _of_entry(entry: os.DirEntry[str]) -> Stamp:
    try:
        return _stamp(entry.stat())
    except OSError:  # A link to nowhere, or gone by now.
        return GONE


def _stamp(found: os.stat_result) -> Stamp:
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino
