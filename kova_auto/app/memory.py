"""Let a person look at the memory of a workspace and of the user, and change it; neither service nor database is asked.

Notes are written as the tools write them: at once, through no link, with a version of each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from kova_auto.app.places import HousePlaces, places_of
from kova_auto.core.context.memory import Layer, Note
from kova_auto.core.context.versions import Source, Trashed, Version
from kova_auto.core.errors import ConfigError, ToolError
from kova_auto.core.ids import RunId
from kova_auto.knowledge.memory import global_memory, read_layer
from kova_auto.settings.model import Settings
from kova_auto.tools.files import Content
from kova_auto.tools.memory.book import Book, note_text
from kova_auto.tools.memory.fulltext import Hits, search
from kova_auto.tools.memory.shelf import Shelf
from kova_auto.tools.roots import Ground, Roots

_NOBODY = RunId("memory")
_TAG = "kova-auto memory"


@dataclass(frozen=True, slots=True)
class Found:
    """Hold a note as it is now, so that it is changed only while it still is."""

    name: str
    content: Content

    @property
    def text(self) -> str:
        """Return the note's text.

        Raises:
            ConfigError: It is none.
        """
        try:
            return note_text(self.content.data, self.name)
        except ToolError as exc:
            hint = f"kova-auto memory forget {self.name} moves it to the trash"
            raise ConfigError(str(exc), path=self.content.path, hint=hint) from exc


@dataclass(frozen=True, slots=True)
class Kept:
    """Hold one version with what it held."""

    version: Version
    data: bytes

    @property
    def text(self) -> str:
        """Return it as text; what is none is shown as such."""
        return self.data.decode("utf-8-sig", "replace")


@dataclass(frozen=True, slots=True)
class Memory:
    """Read and change notes.

    Attributes:
        workspace: Canonical.
    """

    shelf: Shelf
    workspace: Path

    @property
    def ground(self) -> Ground:
        """Return where nothing runs, but notes lie."""
        return Ground(_NOBODY, str(self.workspace))

    def directory(self, layer: Layer) -> Path:
        """Return where a layer lies."""
        return self.shelf.directory(layer, str(self.workspace))

    def notes(self, layers: Sequence[Layer]) -> tuple[list[Note], list[str]]:
        """Return the notes of layers, daily ones too, and why others cannot be read."""
        return self.shelf.notes(layers, str(self.workspace))

    def search(self, layers: Sequence[Layer], query: str, limit: int) -> Hits:
        """Return the lines of notes that have something of a query.

        Raises:
            ConfigError: The query has no word, or nothing can be searched on this machine.
        """
        try:
            return search(self.notes(layers)[0], query, limit)
        except ToolError as exc:
            raise ConfigError(str(exc)) from exc

    def find(self, layer: Layer, name: str) -> Found | None:
        """Return a note, None where there is none.

        Raises:
            ConfigError: It is none that can be read and changed.
        """
        with self._wrong(layer):
            content = self._book(layer).found(name)
        return Found(name, content) if content else None

    def write(self, layer: Layer, name: str, text: str, now: datetime, *, over: Found | None) -> bool:
        """Give a note new text; say whether that changed anything.

        Args:
            layer: Of the note.
            name: Of the note.
            text: All of it.
            now: UTC.
            over: What it was when somebody began to change it; None where there was none.

        Raises:
            ConfigError: It has changed since, or cannot be written.
        """
        data = text.encode(errors="replace")
        with self._wrong(layer):
            note_text(data, name)
        return self._put(layer, name, data, Source.EDIT, now, over)

    def _put(self, layer: Layer, name: str, data: bytes, source: Source, now: datetime, over: Found | None) -> bool:
        if over and over.content.data == data:
            return False
        with self._wrong(layer):
            self._book(layer).put(name, over.content if over else None, data, source=source, now=now, tag=_TAG)
        return True

    def forget(self, layer: Layer, found: Found, now: datetime) -> None:
        """Move a note to the trash.

        Raises:
            ConfigError: It has changed since it was found, or cannot be moved.
        """
        with self._wrong(layer):
            self._book(layer).forget(found.name, found.content, now=now, tag=_TAG)

    def history(self, layer: Layer, name: str) -> list[Kept]:
        """Return the versions of a note, oldest first.

        Raises:
            ConfigError: It is no name of a note, or they cannot be listed or read.
        """
        with self._wrong(layer):
            book = self._book(layer)
            found = ((version, book.version(name, version.number)) for version in book.versions(name))
            return [Kept(version, data) for version, data in found if data is not None]

    def trashed(self, layer: Layer) -> list[Trashed]:
        """Return what is in the trash, the longest there first.

        Raises:
            ConfigError: It cannot be listed.
        """
        with self._wrong(layer):
            return self._book(layer).trashed()

    def restore(self, layer: Layer, name: str, number: int | None, now: datetime) -> str:
        """Bring back a version of a note; say from where.

        Args:
            layer: Of the note.
            name: Of the note.
            number: Of the version; None takes the newest that is not what the note holds, or what is in the trash.
            now: UTC.

        Raises:
            ConfigError: There is nothing to bring back, or it cannot be.
        """
        found, kept = self.find(layer, name), self.history(layer, name)
        if number is None and found is None and self._from_trash(layer, name, now):
            return "from the trash"
        now_is = found.content.data if found else None
        fits = (
            one for one in reversed(kept) if one.version.number == number or (number is None and one.data != now_is)
        )
        wanted = next(fits, None)
        if wanted is None:
            raise self._nothing(layer, name, number, kept)
        self._put(layer, name, wanted.data, Source.RESTORE, now, found)
        return f"from version {wanted.version.number}"

    def _from_trash(self, layer: Layer, name: str, now: datetime) -> bool:
        with self._wrong(layer):
            book = self._book(layer)
            newest = next((one for one in reversed(book.trashed()) if one.name == name), None)
            data = book.from_trash(newest) if newest else None
            if newest is None or data is None:
                return False
            self._put(layer, name, data, Source.RESTORE, now, None)
            book.drop(newest)
        return True

    def _nothing(self, layer: Layer, name: str, number: int | None, kept: Sequence[Kept]) -> ConfigError:
        there = ", ".join(str(one.version.number) for one in kept) or "none"
        wanted = "no earlier version" if number is None else f"no version {number}"
        hint = f"there are: {there}; kova-auto memory history {name} shows them"
        return ConfigError(f"there is {wanted} of it", path=str(self.directory(layer) / name), hint=hint)

    def _book(self, layer: Layer) -> Book:
        return self.shelf.book(layer, self.ground)

    @contextmanager
    def _wrong(self, layer: Layer) -> Iterator[None]:
        """Turn what the boundary says to a model into what a person is told.

        Raises:
            ConfigError: It said something.
        """
        try:
            yield
        except ToolError as exc:
            raise ConfigError(str(exc), path=str(self.directory(layer))) from exc


@contextmanager
def memory_of(settings: Settings, environ: Mapping[str, str], workspace: Path) -> Iterator[Memory]:
    """Give the memory of a workspace and of the user."""
    places = places_of(settings, environ)
    roots = roots_of(places)
    try:
        yield Memory(shelf_of(places, roots), workspace)
    finally:
        roots.close()


def roots_of(places: HousePlaces) -> Roots:
    """Return what locates paths; the caller closes it."""
    return Roots(secret=places.secret, control=places.control, job_dirs=places.job_dirs, memory=_home_memory(places))


def shelf_of(places: HousePlaces, roots: Roots) -> Shelf:
    """Return what knows the memories of this user."""
    return Shelf(roots, _home_memory(places), read_layer)


def _home_memory(places: HousePlaces) -> Path:
    """Return where the global memory really is: a user may keep it elsewhere and lead there by a link."""
    return global_memory(places.home).resolve()
