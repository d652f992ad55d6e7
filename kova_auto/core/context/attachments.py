"""Say what may be attached to a job's prompt, and how much of it is shown.

Source: reference on Kova, 1.3.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from pathlib import PurePath
from typing import Final

MOST_IMAGES: Final = 4
"""Of those that are attached to a prompt, and those that it mentions, together."""
MOST_DOCUMENTS: Final = 2
IMAGE_BYTES: Final = 2 * 1024 * 1024
DOCUMENT_BYTES: Final = 20 * 1024 * 1024
SHOWN_CHARS: Final = 40_000
"""Of one document; its beginning is shown, and where the rest can be read."""
EXTRA: Final = "pip install 'kova-auto[pdf]'"
WANTED: Final = "a PDF document, text, or a PNG, JPEG, GIF or WebP image"

_IMAGES: Final = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp"})
_OTHERS: Final = frozenset(
    {".doc", ".docx", ".odt", ".ppt", ".pptx", ".odp", ".xls", ".xlsx", ".ods", ".rtf", ".zip", ".gz", ".tar", ".7z"}
    | {".mp3", ".mp4", ".wav", ".bmp", ".tif", ".tiff", ".heic", ".exe", ".so", ".db", ".sqlite"}
)


class Attached(StrEnum):
    """Say what an attachment is, by its name."""

    IMAGE = "image"
    PDF = "PDF document"
    TEXT = "text"


def kind_of(path: PurePath) -> Attached | None:
    """Return what a file is by the ending of its name; None for what cannot be attached."""
    ending = path.suffix.lower()
    if ending in _IMAGES:
        return Attached.IMAGE
    if ending in _OTHERS:
        return None
    return Attached.PDF if ending == ".pdf" else Attached.TEXT


def too_large(kind: Attached, size: int) -> str:
    """Return why a file of so many bytes is too large; empty where it is not."""
    most = IMAGE_BYTES if kind is Attached.IMAGE else DOCUMENT_BYTES
    what = "an image" if kind is Attached.IMAGE else "a document"
    return f"wanted {what} of at most {most // 1024 // 1024} MiB, found {size} bytes" if size > most else ""


def too_many(kinds: Iterable[Attached]) -> str:
    """Return why there are too many; empty where there are not."""
    found = list(kinds)
    images = found.count(Attached.IMAGE)
    documents = len(found) - images
    if images <= MOST_IMAGES and documents <= MOST_DOCUMENTS:
        return ""
    return f"wanted at most {MOST_IMAGES} images and {MOST_DOCUMENTS} documents, found {images} and {documents}"
