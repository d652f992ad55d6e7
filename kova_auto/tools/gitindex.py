"""Reads which paths a repository tracks from its index, for where git itself is missing or refuses.

Source: git's documentation, gitformat-index: versions 2, 3 and 4. A split index is read as far as its own entries go.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

_HEADER = 12
_GITLINK = 0o160000
_EXTENDED = 0x4000


@dataclass(frozen=True, slots=True)
class Tracked:
    """Hold the paths of an index: files, and the directories of other repositories."""

    files: frozenset[bytes] = frozenset()
    links: frozenset[bytes] = frozenset()


def parse_index(data: bytes) -> Tracked:
    """Return what an index tracks; what is cut short or unknown is left out."""
    version, count = int.from_bytes(data[4:8], "big"), int.from_bytes(data[8:12], "big")
    if data[:4] != b"DIRC" or version not in (2, 3, 4):
        return Tracked()
    files: set[bytes] = set()
    links: set[bytes] = set()
    try:
        for mode, path in _entries(data, version, count):
            (links if mode & 0o170000 == _GITLINK else files).add(path)
    except (IndexError, ValueError):
        pass  # an index that is being written, or broken: what could be read counts
    return Tracked(frozenset(files), frozenset(links))


def _entries(data: bytes, version: int, count: int) -> Iterator[tuple[int, bytes]]:
    at, path = _HEADER, b""
    for _ in range(count):
        if at + 62 > len(data):
            raise IndexError(at)
        mode = int.from_bytes(data[at + 24 : at + 28], "big")
        extended = int.from_bytes(data[at + 60 : at + 62], "big") & _EXTENDED
        name = at + (64 if extended else 62)
        if version == 4:
            strip, name = _offset(data, name)
            end = data.index(b"\0", name)
            path = path[: len(path) - strip] + data[name:end]
            at = end + 1
        else:
            end = data.index(b"\0", name)
            path = data[name:end]
            at += (end - at + 8) // 8 * 8
        yield mode, path


def _offset(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of variable width, and where it ends."""
    byte = data[at]
    value = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = data[at]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, at + 1
