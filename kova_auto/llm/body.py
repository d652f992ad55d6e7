"""Decode a body that a server compressed although it was asked not to, in bounded pieces."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Final

Unpack = Callable[[bytes], Iterator[bytes]]

PIECE: Final = 65_536
_GZIP_OR_ZLIB: Final = 32 + zlib.MAX_WBITS


class EncodingError(Exception):
    """Say that a body cannot be decoded."""


def plain(encoding: str) -> Unpack:
    """Return what turns the pieces of a body into plain bytes.

    Args:
        encoding: The answer's `content-encoding`.

    Raises:
        EncodingError: It is none that we read; later, from what is returned: the bytes are not what it says.
    """
    match encoding.strip().lower():
        case "" | "identity":
            return lambda piece: iter((piece,))
        case "gzip" | "x-gzip" | "deflate":
            return _Inflate()
        case _:
            msg = "the answer is compressed in a way that was not asked for"
            raise EncodingError(msg)


class _Inflate:
    def __init__(self) -> None:
        self._state = zlib.decompressobj(_GZIP_OR_ZLIB)

    def __call__(self, piece: bytes) -> Iterator[bytes]:
        full = False
        while (piece or full) and not self._state.eof:
            try:
                part = self._state.decompress(piece, PIECE)
            except zlib.error as exc:
                msg = "the answer is not compressed as it says"
                raise EncodingError(msg) from exc
            piece, full = self._state.unconsumed_tail, len(part) == PIECE
            if part:
                yield part
