"""Turns a file's bytes into text and back, losing nothing on the way."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

_PROBED_BYTES = 8192
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_IMAGES = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))
_BINARIES = (
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive or office document"),
    (b"\x1f\x8b", "gzip data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ\x00", "xz data"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"\x7fELF", "an ELF program"),
    (b"\xcf\xfa\xed\xfe", "a Mach-O program"),
    (b"MZ", "a Windows program"),
    (b"\x00asm", "a WebAssembly module"),
    (b"\xca\xfe\xba\xbe", "a Java class or universal program"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"OggS", "Ogg audio or video"),
    (b"ID3", "MP3 audio"),
    (b"\x00\x00\x01\x00", "an icon"),
    (b"wOF2", "a web font"),
)


@dataclass(frozen=True, slots=True)
class Text:
    """Hold a file's text.

    Attributes:
        text: Bytes that are no text of the encoding are kept as lone surrogates.
        mark: The byte order mark that the file begins with; not part of `text`.
        odd: How many bytes are no text of the encoding.
    """

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""
    odd: int = 0

    @property
    def readable(self) -> str:
        """Return the text with a sign in place of each odd byte."""
        return self.text.encode("utf-8", "surrogateescape").decode("utf-8", "replace") if self.odd else self.text

    def encode(self, text: str) -> bytes:
        """Return a text in the bytes of this file.

        Raises:
            UnicodeEncodeError: It holds half a character.
        """
        return self.mark + text.encode(self.encoding, "surrogateescape" if self.odd else "strict")


def decode(data: bytes) -> Text:
    """Return the text of a file: by its byte order mark, else UTF-8."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _decode(data[len(mark) :], encoding, mark)
    return _decode(data, "utf-8", b"")


def _decode(data: bytes, encoding: str, mark: bytes) -> Text:
    try:
        return Text(data.decode(encoding), encoding, mark)
    except UnicodeDecodeError:
        if encoding != "utf-8":
            return _decode(mark + data, "utf-8", b"")
        text = data.decode(encoding, "surrogateescape")
        return Text(text, encoding, mark, odd=sum("\udc80" <= char <= "\udcff" for char in text))


def image_type(data: bytes) -> str | None:
    """Return the media type of an image that models read, by its first bytes."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((media for magic, media in _IMAGES if data.startswith(magic)), None)


def binary_type(data: bytes) -> str | None:
    """Return what a file that is no text is, or None for text."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and len(data) % 2 == 0:
        return None
    if b"\0" not in data[:_PROBED_BYTES] and not data.startswith(b"%PDF-"):
        return None
    return next((kind for magic, kind in _BINARIES if data.startswith(magic)), "of an unknown type")
