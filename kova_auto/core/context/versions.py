"""Name the versions that a note has had, and say which of them are kept.

A version is what a note held once something was done to it; the newest is what it holds now, unless somebody else has
changed it since. Its name says its number, when it was kept, and whose doing it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, TypeVar

MAX_VERSIONS: Final = 50
"""So many versions of a note are kept, and so many notes in the trash."""

_STAMP: Final = "%Y%m%dT%H%M%SZ"
_VERSION: Final = re.compile(r"(\d{6,9})-(\d{8}T\d{6}Z)-([a-z]+)\.md", re.ASCII)
_TRASHED: Final = re.compile(r"(\d{6,9})-(\d{8}T\d{6}Z)-(.+\.md)", re.ASCII)
_SLASH: Final = "+"  # no note's name holds one


class Source(StrEnum):
    """Say by whose doing a note came to hold what it holds."""

    AGENT = "agent"
    EDIT = "edit"  # by the command line
    EXTERNAL = "external"  # by something else: found at the next change
    RESTORE = "restore"
    DELETE = "delete"  # what it held when it was moved to the trash


_SOURCES: Final = frozenset(source.value for source in Source)


@dataclass(frozen=True, slots=True)
class Version:
    """Hold what is known of one version; `at` is UTC, to the second."""

    number: int
    at: datetime
    source: Source

    @property
    def file(self) -> str:
        """Return the name of its file."""
        return f"{self.number:06}-{self.at.astimezone(UTC):{_STAMP}}-{self.source}.md"


@dataclass(frozen=True, slots=True)
class Trashed:
    """Hold what is known of one note in the trash; `at` is when it was moved there, UTC."""

    number: int
    at: datetime
    name: str

    @property
    def file(self) -> str:
        """Return the name of its file."""
        return f"{self.number:06}-{self.at.astimezone(UTC):{_STAMP}}-{self.name.replace('/', _SLASH)}"


def versions_of(files: Iterable[str]) -> list[Version]:
    """Return the versions that such files hold, oldest first; what is no version is passed over."""
    found = []
    for file in files:
        match = _VERSION.fullmatch(file)
        if match and match[3] in _SOURCES and (at := _instant(match[2])):
            found.append(Version(int(match[1]), at, Source(match[3])))
    return sorted(found, key=lambda version: version.number)


def trashed_of(files: Iterable[str]) -> list[Trashed]:
    """Return the notes that such files hold, the longest in the trash first; what is none is passed over."""
    found = []
    for file in files:
        match = _TRASHED.fullmatch(file)
        if match and (at := _instant(match[2])):
            found.append(Trashed(int(match[1]), at, match[3].replace(_SLASH, "/")))
    return sorted(found, key=lambda trashed: trashed.number)


def _instant(stamp: str) -> datetime | None:
    try:
        return datetime.strptime(stamp, _STAMP).replace(tzinfo=UTC)
    except ValueError:
        return None


K = TypeVar("K", Version, Trashed)


def next_number(kept: Sequence[K]) -> int:
    """Return the number of the next one: none is used again as long as anything is kept."""
    return kept[-1].number + 1 if kept else 1


def superfluous(kept: Sequence[K]) -> Sequence[K]:
    """Return the oldest of those, as many as are too many."""
    return kept[: max(0, len(kept) - MAX_VERSIONS)]
