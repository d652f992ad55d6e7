"""Reads the files that a prompt mentions, in bounds; what is not shown is said, and nothing is left out in silence."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from dataclasses import dataclass, field

from kova_auto.core.context.briefing import Briefing
from kova_auto.core.context.material import Piece, behind
from kova_auto.core.context.mentions import MOST_MENTIONS, Mention
from kova_auto.core.errors import ToolError, ToolFailedError
from kova_auto.core.ids import BlobHash
from kova_auto.core.source import Source, SourceKind
from kova_auto.threads import aside
from kova_auto.tools.glob import compiled
from kova_auto.tools.ignore import Lister, Listing
from kova_auto.tools.numbered import numbered
from kova_auto.tools.output import printable
from kova_auto.tools.roots import Target
from kova_auto.tools.sight import Picture, Sight, Words

MAX_FILE_BYTES = 32 * 1024
MAX_ALL_BYTES = 128 * 1024
MAX_FILES = 50
MAX_LISTED = 200
_WHAT = "The prompt mentions what follows."
_NO_ROOM = "there is no room for more mentioned files; read it with a tool"


@dataclass(slots=True)
class _Shown:
    """Collect what is shown, as long as there is room.

    Attributes:
        images: How many more may be shown.
        known: Files that are shown whole, by canonical path; and parts of files, with their lines.
    """

    images: int
    left: int = MAX_ALL_BYTES
    pieces: list[Piece] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    blobs: list[bytes] = field(default_factory=list)
    reads: dict[str, BlobHash] = field(default_factory=dict)
    known: set[tuple[str, int | None, int | None]] = field(default_factory=set)

    def tell(self, name: str, problem: str) -> None:
        """Say that something is not shown."""
        self.sources.append(Source(kind=SourceKind.MENTION, name=name, problem=problem))

    def add(self, name: str, piece: Piece, *, cut: bool = False) -> None:
        """Show something."""
        self.pieces.append(piece)
        self.left -= len(piece.text.encode(errors="replace"))
        self.sources.append(Source(kind=SourceKind.MENTION, name=name, chars=len(piece.text), cut=cut))

    @property
    def is_full(self) -> bool:
        """Say whether nothing more fits."""
        return self.left < MAX_FILE_BYTES // 8 or len(self.pieces) >= MAX_FILES

    def briefing(self) -> Briefing:
        """Return what was collected."""
        return Briefing(
            behind=behind(_WHAT, self.pieces),
            sources=tuple(self.sources),
            blobs=tuple(self.blobs),
            reads=self.reads,
        )


async def mentioned(found: Sequence[Mention], sight: Sight, lister: Lister, *, images: int) -> Briefing:
    """Return what a run is shown of what its prompt mentions.

    Args:
        found: In the order of the prompt.
        sight: What the run may look at.
        lister: Lists directories.
        images: How many may be shown at most.
    """
    shown = _Shown(images)
    for mention in found[:MOST_MENTIONS]:
        try:
            await _Reading(sight, lister, mention, shown).show()
        except ToolError as exc:
            shown.tell(mention.text, str(exc))
    for mention in found[MOST_MENTIONS:]:
        if mention.sure:
            shown.tell(mention.text, f"a prompt may mention {MOST_MENTIONS} files; read it with a tool")
    return shown.briefing()


@dataclass(frozen=True, slots=True)
class _Reading:
    """Show one mention."""

    sight: Sight
    lister: Lister
    mention: Mention
    shown: _Shown

    async def show(self) -> None:
        """Show what is there; one that may be plain text, and means nothing that is there, is none.

        Raises:
            ToolError: It is not shown.
        """
        found = await aside(self._found)
        if found:
            await self._show(*found)
        elif self.mention.is_pattern:
            await self._matching()
        elif self.mention.sure:
            message = f"there is no {printable(self.mention.path)}"
            raise ToolFailedError(message)

    def _found(self) -> tuple[Target, int] | None:
        try:
            target = self.sight.target(self.mention.path)
            kind = self.sight.kind(target)
        except ToolError:
            if self.mention.sure:
                raise
            return None
        return None if kind is None else (target, kind)

    async def _show(self, target: Target, kind: int) -> None:
        if self.shown.is_full:
            raise ToolFailedError(_NO_ROOM)
        if kind == stat.S_IFDIR:
            self._list(target, await self.lister.list(target))
        else:
            await aside(lambda: self._read(target, self.mention.text))

    def _read(self, target: Target, name: str) -> None:
        first, last = self.mention.first, self.mention.last
        if first is not None and (first < 1 or last is None or last < first):
            message = f"wanted lines as 10-40, found {first}-{last}"
            raise ToolFailedError(message)
        read = self.sight.read(target)
        if isinstance(read, Picture):
            self._picture(read, target, name)
        else:
            self._words(read, target, name)

    def _picture(self, read: Picture, target: Target, name: str) -> None:
        if (key := (target.path, None, None)) in self.shown.known:
            return
        if self.shown.images <= 0:
            message = "there is no room for more images; read it with a tool"
            raise ToolFailedError(message)
        self.shown.known.add(key)
        self.shown.images -= 1
        self.shown.blobs.append(read.data)
        self.shown.add(name, Piece(f"{target.shown}, {read.part.media_type}", image=read.part))

    def _words(self, read: Words, target: Target, name: str) -> None:
        first, last = self.mention.first, self.mention.last
        if not {(read.path, None, None), key := (read.path, first, last)}.isdisjoint(self.shown.known):
            return
        count = None if first is None or last is None else last - first + 1
        lines = numbered(read.text, first or 1, count, most=min(MAX_FILE_BYTES, self.shown.left))
        self.shown.known.add(key)
        if lines.whole:
            self.shown.reads[read.path] = read.hash
        label = target.shown if first is None else f"{target.shown}, lines {first} to {last}"
        self.shown.add(name, Piece(label, lines.text), cut=first is None and not lines.whole)

    def _list(self, target: Target, listing: Listing) -> None:
        if (key := (listing.path, None, None)) in self.shown.known:
            return
        self.shown.known.add(key)
        names = sorted({_entry(path) for path in listing.files})
        lines = [printable(name) for name in names[:MAX_LISTED]]
        if not names:
            lines.append("[no files, or none but those that git ignores]")
        elif len(names) > MAX_LISTED:
            lines.append(f"[{len(names) - MAX_LISTED} more of {len(names)}]")
        piece = Piece(f"{target.shown.rstrip('/')}/, a directory with", "\n".join(lines))
        self.shown.add(self.mention.text, piece, cut=len(names) > MAX_LISTED or not listing.complete)

    async def _matching(self) -> None:
        """Show the files that fit a pattern.

        Raises:
            ToolError: None does, or it is no pattern.
        """
        folder, pattern = _parted(self.mention.path)
        target = await aside(lambda: self.sight.target(folder or "."))
        fits = compiled(pattern)
        there = await aside(lambda: self.sight.kind(target)) == stat.S_IFDIR
        found = [path for path in (await self.lister.list(target)).files if fits.fits(path)] if there else []
        if not found and self.mention.sure:
            message = "nothing fits"
            raise ToolFailedError(message)
        for at, path in enumerate(found):
            if self.shown.is_full:
                message = f"{len(found) - at} of {len(found)} files that fit are left out; {_NO_ROOM}"
                raise ToolFailedError(message)
            await self._one_of(f"{folder}/{path}" if folder else path)

    async def _one_of(self, path: str) -> None:
        name = f"{self.mention.text} ({printable(path)})"
        try:
            await aside(lambda: self._read(self.sight.target(path), name))
        except ToolError as exc:
            self.shown.tell(name, str(exc))


def _entry(path: str) -> str:
    """Return what of a path lies directly in the directory that was listed."""
    first, slash, _ = path.partition("/")
    return first + slash


def _parted(pattern: str) -> tuple[str, str]:
    """Return the directory that a pattern begins with, and the rest."""
    signs = [at for at in (pattern.find(sign) for sign in "*?[{") if at >= 0]
    folder, slash, _ = pattern[: min(signs)].rpartition("/")
    return (folder or "/" if slash else ""), pattern[len(folder) + len(slash) :]
