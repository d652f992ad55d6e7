"""Reads the texts that searches go through; what several look through at the same time is listed and read once.

Reading many small files is work of this process, and its threads take turns at that: six searches of one reply would
take six times as long as one, on however many cores.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from kova_auto.core.ids import RunId
from kova_auto.tools.boundary import FILE
from kova_auto.tools.encoding import binary_type, decode
from kova_auto.tools.files import read_all
from kova_auto.tools.glob import named_below
from kova_auto.tools.ignore import Lister, Listing
from kova_auto.tools.matches import MAX_FILE_BYTES, Searched, Shown
from kova_auto.tools.output import printable
from kova_auto.tools.roots import Target
from kova_auto.tools.search import Lines

MOST_KEPT: Final = 32 * 1024 * 1024
"""Bytes of what several searches go through; each reads the rest for itself."""
_BATCH_BYTES: Final = 8 * 1024 * 1024


class Unread(Enum):
    """Say why a file is not searched."""

    NO_TEXT = "no text"  # or it was removed since it was listed
    TOO_LARGE = "too large"


@dataclass(slots=True, eq=False)
class Reading:
    """Hold what is known of one directory while searches go through it.

    Attributes:
        users: So many searches do.
        kept: Bytes that are held for the others.
        turn: Whoever has it lists, or reads the next files; the others find these here then.
    """

    users: int = 0
    kept: int = 0
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _listing: Listing | None = None
    _texts: dict[str, Lines | Unread] = field(default_factory=dict)

    async def listing(self, lister: Lister, target: Target) -> Listing:
        """Return what lies in the directory.

        Raises:
            ToolFailedError: It may not be read.
        """
        async with self.turn:
            if self._listing is None:
                self._listing = await lister.list(target)
            return self._listing

    async def batch(self, target: Target, directory: int, todo: deque[str], shown: Shown) -> list[Searched]:
        """Take the next files, and return the texts of those that are searched, as many as may be held at once.

        Args:
            target: The directory.
            directory: The same, open.
            todo: Names of the files, relative; those that were taken are gone.
            shown: Is told of what is too large.
        """
        async with self.turn:
            return await asyncio.to_thread(self._batch, target, directory, todo, shown)

    def _batch(self, target: Target, directory: int, todo: deque[str], shown: Shown) -> list[Searched]:
        batch: list[Searched] = []
        size, lead = 0, named_below(target)
        while todo and size < _BATCH_BYTES:
            path = todo.popleft()
            known = self._texts.get(path)
            text = self._read(target, directory, path) if known is None else known
            if isinstance(text, Lines):
                size += len(text.data)
                batch.append(Searched(printable(lead + path), text))
            elif text is Unread.TOO_LARGE:
                shown.too_large += 1
        return batch

    def _read(self, target: Target, directory: int, path: str) -> Lines | Unread:
        text = _text(target, directory, path)
        if self.users > 1 and self.kept < MOST_KEPT:
            self._texts[path] = text
            self.kept += len(text.data) if isinstance(text, Lines) else 0
        return text


class Readings:
    """Know which directories searches of runs go through just now."""

    def __init__(self) -> None:
        """Begin with none."""
        self._open: dict[tuple[RunId, str], Reading] = {}

    @contextmanager
    def of(self, run: RunId, path: str) -> Iterator[Reading]:
        """Give what searches of a run share that go through a directory at the same time; the last forgets it.

        Args:
            run: Runs share nothing: each sees what is there when its own search begins.
            path: The directory, as the call names it.
        """
        reading = self._open.setdefault((run, path), Reading())
        reading.users += 1
        try:
            yield reading
        finally:
            reading.users -= 1
            if not reading.users:
                del self._open[run, path]


def _text(target: Target, directory: int, path: str) -> Lines | Unread:
    """Return the text of a file, links not followed."""
    data = _content(target, directory, path)
    if data is None or binary_type(data):
        return Unread.NO_TEXT
    return Unread.TOO_LARGE if len(data) > MAX_FILE_BYTES else Lines.of(decode(data).readable)


def _content(target: Target, directory: int, path: str) -> bytes | None:
    """Return a listed file's content, links not followed; at most one byte more than is searched."""
    try:
        fd = target.root.resolve(directory, path.split("/"), FILE, follow=False)
    except OSError:
        return None
    try:
        return read_all(fd, MAX_FILE_BYTES) if stat.S_ISREG(os.fstat(fd).st_mode) else None
    except OSError:
        return None
    finally:
        os.close(fd)
