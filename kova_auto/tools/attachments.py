"""Reads what is attached to a job's prompt; a file that is not there keeps the run from beginning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

from kova_auto.core.context.attachments import (
    DOCUMENT_BYTES,
    EXTRA,
    MOST_DOCUMENTS,
    MOST_IMAGES,
    SHOWN_CHARS,
    WANTED,
    Attached,
    too_large,
)
from kova_auto.core.context.briefing import Briefing
from kova_auto.core.context.material import Piece, behind
from kova_auto.core.errors import ToolError, ToolFailedError
from kova_auto.core.ids import blob_hash
from kova_auto.core.message import ImagePart
from kova_auto.core.source import Source, SourceKind
from kova_auto.threads import aside
from kova_auto.tools.encoding import binary_type, decode, image_type
from kova_auto.tools.files import Content, read_file
from kova_auto.tools.pdf import text_of_pdf
from kova_auto.tools.read import blob_path
from kova_auto.tools.roots import Target
from kova_auto.tools.sight import Sight

_WHAT = "The author of this job attached what follows."
_PDF = b"%PDF-"
_MOST_REST = 4 * 1024 * 1024


class _LackingError(Exception):
    """Say what keeps the run from beginning."""


@dataclass(slots=True)
class _Shown:
    reads_pdf: bool
    images: int = 0
    documents: int = 0
    pieces: list[Piece] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    blobs: list[bytes] = field(default_factory=list)
    rests: list[bytes] = field(default_factory=list)

    def tell(self, name: str, problem: str) -> None:
        """Say that something is not shown."""
        self.sources.append(Source(kind=SourceKind.ATTACHMENT, name=name, problem=problem))

    def add(self, piece: Piece, name: str, *, cut: bool = False) -> None:
        """Show something."""
        self.pieces.append(piece)
        self.sources.append(Source(kind=SourceKind.ATTACHMENT, name=name, chars=len(piece.text), cut=cut))


async def attached(paths: Sequence[str], sight: Sight, *, reads_pdf: bool) -> Briefing:
    """Return what a run is shown of what is attached to its prompt.

    Args:
        paths: Absolute.
        sight: What the run may look at, and what lies beside its job file.
        reads_pdf: Whether the extra is there that PDF documents take.
    """
    shown = _Shown(reads_pdf)
    for path in paths:
        try:
            await _attach(path, sight, shown)
        except ToolError as exc:
            shown.tell(path, str(exc))
        except _LackingError as exc:
            return Briefing(lacks=f"context.attachments: {exc}")
    return Briefing(
        behind=behind(_WHAT, shown.pieces),
        sources=tuple(shown.sources),
        blobs=(*shown.blobs, *shown.rests),
        rests=tuple(map(blob_hash, shown.rests)),
    )


async def _attach(path: str, sight: Sight, shown: _Shown) -> None:
    content, target = await aside(lambda: _read(path, sight))
    if media := image_type(content.data):
        _show_image(content, target, media, shown)
        return
    _wants_room(Attached.TEXT, len(content.data), shown.documents, MOST_DOCUMENTS)
    if content.data.startswith(_PDF):
        if not shown.reads_pdf:
            message = f"{path} is a PDF document, and what reads these is an extra: {EXTRA}"
            raise _LackingError(message)
        text = await text_of_pdf(content.data)
    elif kind := binary_type(content.data):
        message = f"it is a binary file ({kind}, {len(content.data)} bytes); wanted {WANTED}"
        raise ToolFailedError(message)
    else:
        text = decode(content.data).readable
    shown.documents += 1
    _show_text(sight.redact(text), target, shown)


def _read(path: str, sight: Sight) -> tuple[Content, Target]:
    target = sight.target(path)
    if sight.kind(target) is None:
        message = f"there is no {path}"
        raise _LackingError(message)
    return read_file(sight.roots, target, limit=DOCUMENT_BYTES), target


def _wants_room(kind: Attached, size: int, have: int, most: int) -> None:
    what = "images" if kind is Attached.IMAGE else "documents"
    if problem := too_large(kind, size) or (f"at most {most} {what} can be attached" if have >= most else ""):
        raise ToolFailedError(problem)


def _show_image(content: Content, target: Target, media: str, shown: _Shown) -> None:
    _wants_room(Attached.IMAGE, len(content.data), shown.images, MOST_IMAGES)
    shown.images += 1
    shown.blobs.append(content.data)
    part = ImagePart(blob=content.hash, media_type=media)
    shown.add(Piece(f"{_name(target)}, {media}", image=part), target.shown)


def _show_text(text: str, target: Target, shown: _Shown) -> None:
    """Show a text, or its beginning; the whole of it is kept then, for it may lie where no tool reads it."""
    if len(text) <= SHOWN_CHARS:
        shown.add(Piece(_name(target), text.rstrip("\n") or "[the file is empty]"), target.shown)
        return
    rest = text.encode(errors="replace")[:_MOST_REST]
    head = text[:SHOWN_CHARS]
    head = head[: head.rfind("\n") + 1] or head
    told = f'[cut here, {len(head)} of {len(text)} characters; read file_path="{blob_path(blob_hash(rest))}" for all]'
    shown.rests.append(rest)
    shown.add(Piece(_name(target), f"{head.rstrip()}\n{told}"), target.shown, cut=True)


def _name(target: Target) -> str:
    return PurePath(target.shown).name
