"""Writes the notes of one layer of a memory, and keeps what they held before: versions, and a trash.

Everything goes through the boundary of the tools: no link is followed, a note is replaced at once, and only where it
is what the writer has seen. Versions and trash are never shown to a model and ignore themselves in git.

Source: reference on Kova, 6.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePath

from kova_auto.core.context.memory import HISTORY, MAX_NOTE_BYTES, TRASH, Layer, wrong_name
from kova_auto.core.context.versions import (
    Source,
    Trashed,
    Version,
    next_number,
    superfluous,
    trashed_of,
    versions_of,
)
from kova_auto.core.errors import ToolFailedError
from kova_auto.core.ids import BlobHash
from kova_auto.tools.boundary import LISTING
from kova_auto.tools.files import Content, existing, remove_file, replace_file
from kova_auto.tools.roots import Ground, Roots, Target

_PRIVATE = 0o600
_IGNORE = ".gitignore"
_ALL_IGNORED = b"*\n"
_STILL_KNOWN = 2  # the newest, and the one before where a writer was killed before it wrote


@dataclass(frozen=True, slots=True)
class Book:
    """Keep one layer.

    Attributes:
        directory: Absolute and canonical; it need not be there.
        ground: Of the run that writes, or of nothing but a workspace.
    """

    roots: Roots
    layer: Layer
    directory: PurePath
    ground: Ground

    @property
    def _mode(self) -> int | None:
        return _PRIVATE if self.layer is Layer.GLOBAL else None

    def target(self, name: str) -> Target:
        """Return where a note lies.

        Raises:
            ToolError: It is no name of a note.
        """
        if why := wrong_name(name):
            message = f"{name!r} names no note: {why}"
            raise ToolFailedError(message)
        return self._file(name)

    def _file(self, below: str) -> Target:
        return self.roots.locate(str(self.directory / below), self.ground, writes=True, keeps=True)

    def found(self, name: str) -> Content | None:
        """Return a note as it is now, whatever it holds; None where there is none.

        Raises:
            ToolError: It is none that may be changed.
        """
        return existing(self.roots, self.target(name))

    def put(self, name: str, before: Content | None, after: bytes, *, source: Source, now: datetime, tag: str) -> None:
        """Give a note new content, and keep a version of it; of what somebody else wrote before, too.

        Args:
            name: Of the note.
            before: As it was found.
            after: All that it is to hold.
            source: By whose doing.
            now: UTC.
            tag: Tells the writer's temporary files apart.

        Raises:
            ToolError: It has changed since, or cannot be written.
        """
        target, was = self.target(name), before.hash if before else None
        version = self._keep(name, before, after, source=source, now=now, tag=tag)
        try:
            replace_file(self.roots, target, after, before=was, tag=tag, mode=None if before else self._mode)
        except ToolFailedError:
            self._remove(f"{HISTORY}/{name}/{version.file}")  # it has never been
            raise

    def _keep(
        self, name: str, before: Content | None, after: bytes, *, source: Source, now: datetime, tag: str
    ) -> Version:
        """Keep a version of what a note is about to hold; of what somebody else wrote before, too."""
        kept = self.versions(name)
        if before is not None and before.hash not in self._known(name, kept):
            kept.append(self._version(name, kept, before.data, Source.EXTERNAL, now, tag))
        kept.append(self._version(name, kept, after, source, now, tag))
        for version in superfluous(kept):
            self._remove(f"{HISTORY}/{name}/{version.file}")
        return kept[-1]

    def _known(self, name: str, kept: list[Version]) -> set[BlobHash]:
        return {found.hash for version in kept[-_STILL_KNOWN:] if (found := self._version_file(name, version))}

    def _version(self, name: str, kept: list[Version], data: bytes, source: Source, now: datetime, tag: str) -> Version:
        version = Version(next_number(kept), now, source)
        self._add(HISTORY, f"{name}/{version.file}", data, tag)
        return version

    def _add(self, folder: str, below: str, data: bytes, tag: str) -> None:
        """Add a file to the history or the trash, which git is told to ignore."""
        ignore = self._file(f"{folder}/{_IGNORE}")
        if existing(self.roots, ignore) is None:
            replace_file(self.roots, ignore, _ALL_IGNORED, before=None, tag=tag, mode=self._mode)
        replace_file(self.roots, self._file(f"{folder}/{below}"), data, before=None, tag=tag, mode=self._mode)

    def _remove(self, below: str) -> None:
        target = self._file(below)
        if found := existing(self.roots, target):
            remove_file(self.roots, target, before=found.hash)

    def versions(self, name: str) -> list[Version]:
        """Return the versions of a note, oldest first; they may be of one that is not there any more.

        Raises:
            ToolError: It is no name of a note, or they cannot be listed.
        """
        self.target(name)
        return versions_of(self._names(f"{HISTORY}/{name}"))

    def version(self, name: str, number: int) -> bytes | None:
        """Return what a version holds, None where there is none of this number.

        Raises:
            ToolError: It cannot be read.
        """
        version = next((version for version in self.versions(name) if version.number == number), None)
        found = self._version_file(name, version) if version else None
        return found.data if found else None

    def _version_file(self, name: str, version: Version) -> Content | None:
        return existing(self.roots, self._file(f"{HISTORY}/{name}/{version.file}"))

    def forget(self, name: str, before: Content, *, now: datetime, tag: str) -> Trashed:
        """Move a note to the trash, from where it can be restored.

        Raises:
            ToolError: It has changed since it was found, or cannot be moved.
        """
        kept = self.trashed()
        trashed = Trashed(next_number(kept), now, name)
        self._add(TRASH, trashed.file, before.data, tag)
        self._keep(name, before, before.data, source=Source.DELETE, now=now, tag=tag)
        remove_file(self.roots, self.target(name), before=before.hash)
        for old in superfluous([*kept, trashed]):
            self._remove(f"{TRASH}/{old.file}")
        return trashed

    def trashed(self) -> list[Trashed]:
        """Return what is in the trash, the longest there first.

        Raises:
            ToolError: It cannot be listed.
        """
        return trashed_of(self._names(TRASH))

    def from_trash(self, trashed: Trashed) -> bytes | None:
        """Return what a note in the trash holds, None where it is not there any more.

        Raises:
            ToolError: It cannot be read.
        """
        found = existing(self.roots, self._file(f"{TRASH}/{trashed.file}"))
        return found.data if found else None

    def drop(self, trashed: Trashed) -> None:
        """Remove a note from the trash for good. Calling twice is safe.

        Raises:
            ToolError: It cannot be removed.
        """
        self._remove(f"{TRASH}/{trashed.file}")

    def _names(self, folder: str) -> list[str]:
        return list(self._listed(self._file(f"{folder}/{_IGNORE}")))

    def _listed(self, inside: Target) -> Iterator[str]:
        """Yield the names of what lies beside a file; nothing where its directory is not there."""
        with self.roots.plainly(inside):
            try:
                fd = inside.root.open(inside.parts[:-1], LISTING)
            except FileNotFoundError:
                return
            try:
                with os.scandir(fd) as entries:
                    yield from [entry.name for entry in entries]
            finally:
                os.close(fd)


def note_text(data: bytes, label: str) -> str:
    """Return a note's text.

    Raises:
        ToolFailedError: It is too large, or no text.
    """
    if len(data) > MAX_NOTE_BYTES:
        message = (
            f"the note {label} has {len(data)} bytes, and a note may have {MAX_NOTE_BYTES}: "
            "shorten it, or begin another one"
        )
        raise ToolFailedError(message)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        message = f"the note {label} is no text: wanted UTF-8, found byte {data[exc.start]:#04x} at {exc.start}"
        raise ToolFailedError(message) from exc
    if "\0" in text:
        message = f"the note {label} is no text: there is a NUL in it"
        raise ToolFailedError(message)
    return text
