"""Read a chunked body from bytes, however they were cut on their way: all that came together is one piece.

Strict where two readers might disagree on where a body ends; what may be passed over is read and passed over.

Source: RFC 9112, section 7.1.
"""

from __future__ import annotations

import re
from typing import Final

import httpx

MAX_HEAD_BYTES: Final = 4_096
MAX_TRAILER_BYTES: Final = 16_384
_LINE_END: Final = b"\r\n"
_TEXT: Final = rb"[\t -~\x80-\xff]*"
_SIZE: Final = rb"([0-9A-Fa-f]{1,15})[\t ]*(?:;" + _TEXT + rb")?"
_HEAD: Final = re.compile(rb"\r\n" + _SIZE + rb"\r\n")
_HEAD_SO_FAR: Final = re.compile(rb"\r?|\r\n(?:" + _SIZE + rb"\r?)?")
_TRAILERS: Final = re.compile(rb"(?:[!-9;-~]+:" + _TEXT + rb"\r\n)*\r\n")


class ChunkedBody:
    """Read one body.

    Attributes:
        ended: It came to its end; nothing more is taken then.
        rest: What came behind its end.
    """

    def __init__(self) -> None:
        self.ended = False
        self.rest = b""
        self._torn = _LINE_END  # What has not been read yet. A chunk's own line end begins the next one's head.
        self._left = 0
        self._is_last = False

    def feed(self, data: bytes) -> bytes:
        """Return what of the body these bytes bring.

        Raises:
            httpx.RemoteProtocolError: They are no chunked body.
        """
        data, at, parts = self._torn + data, 0, list[bytes]()
        while not self._is_last:
            if self._left:
                parts.append(part := data[at : at + self._left])
                at += len(part)
                self._left -= len(part)
            if self._left or (head := _HEAD.match(data, at)) is None:
                break
            at, self._left = head.end(), int(head[1], 16)
            self._is_last = not self._left
        self._torn = data[at:]
        if self._is_last:
            self._end()
        elif not self._left:
            _refuse_unless(len(self._torn) <= MAX_HEAD_BYTES and _HEAD_SO_FAR.fullmatch(self._torn))
        return b"".join(parts)

    def _end(self) -> None:
        """Pass over what follows the last chunk."""
        trailers = _TRAILERS.match(self._torn)
        if trailers is None:
            is_whole = self._torn.startswith(_LINE_END) or 2 * _LINE_END in self._torn
            _refuse_unless(not is_whole and len(self._torn) <= MAX_TRAILER_BYTES)
            return
        self.rest, self._torn, self.ended = self._torn[trailers.end() :], b"", True


def _refuse_unless(is_sound: object) -> None:
    if not is_sound:
        msg = "its body is not chunked as it should be"
        raise httpx.RemoteProtocolError(msg)
