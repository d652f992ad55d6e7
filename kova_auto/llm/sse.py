"""Read server-sent events from bytes, however they were cut on their way.

Lines end in LF, CRLF or CR; several `data` lines are one event; comments are skipped; an event is complete at a blank
line, and also where the stream ends. Nothing is decoded before it is whole, so no character is ever torn.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

MAX_EVENT_BYTES: Final = 8 * 1024 * 1024
_LINE_END: Final = re.compile(rb"\r\n|\n|\r")
_PLAIN: Final = re.compile(rb"(?:event: ?([^\r\n]*)\r?\n)?data: ?([^\r\n]*)\r?\n\r?\n")  # what nearly all events are
_BOM: Final = b"\xef\xbb\xbf"
_NAMED: Final = (b"event", b"data", b"id", b"retry")


class SseEvent(NamedTuple):
    """Hold one event: its name, empty where it has none, and its data."""

    name: str
    data: str


class EventTooLargeError(Exception):
    """Say that an event outgrew what we keep."""


class SseReader:
    """Turn pieces of a byte stream into events; one reader for one stream.

    Attributes:
        stray: What came although it is no server-sent event, as a JSON body instead of a stream.
    """

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        """Begin a stream.

        Args:
            max_event_bytes: For one event, and for what is kept of a body that holds none.
        """
        self._limit = max_event_bytes
        self._torn: list[bytes] = []  # the line that has not ended yet
        self._name = b""
        self._data: list[bytes] = []
        self._stray: list[bytes] = []
        self._size = 0
        self._after_cr = False
        self._first_line = True
        self._any = False

    @property
    def stray(self) -> str:
        """Return what came before any event and was none."""
        return "" if self._any else b"\n".join(self._stray).decode("utf-8", "replace")

    def feed(self, piece: bytes) -> list[SseEvent]:
        """Return the events that this piece completes.

        Raises:
            EventTooLargeError: One event is larger than the limit.
        """
        if self._after_cr and piece.startswith(b"\n"):
            piece = piece[1:]
            self._after_cr = False
        if not piece:
            return []
        events: list[SseEvent] = []
        if not (self._size or self._name or len(piece) > self._limit):  # It begins where an event may begin.
            piece = self._plain(piece, events)
        self._lines(piece, events)
        return events

    def _plain(self, piece: bytes, events: list[SseEvent]) -> bytes:
        """Read all events at once where each is as plain as can be; return what is still to be read."""
        parts = _PLAIN.split(piece)
        *between, rest = parts[::3]
        if not between or any(between):
            return piece
        self._first_line, self._any, self._torn = False, True, []
        for name, data in zip(parts[1::3], parts[2::3], strict=True):
            called = name.decode("utf-8", "replace") if name else ""
            events.append(SseEvent(called, data.decode("utf-8", "replace")))
        return rest

    def _lines(self, piece: bytes, events: list[SseEvent]) -> None:
        self._after_cr = piece.endswith(b"\r")
        first, *others = _LINE_END.split(piece)
        self._torn.append(first)
        self._grow(len(first))
        for line in others:
            self._end_line(events)
            self._torn = [line]
            self._grow(len(line))

    def close(self) -> list[SseEvent]:
        """Return the event that the stream's end completes, if there is one."""
        events: list[SseEvent] = []
        self._end_line(events)
        self._dispatch(events)
        return events

    def _grow(self, count: int) -> None:
        self._size += count
        if self._size > self._limit:
            msg = f"one event is larger than {self._limit:,} bytes"
            raise EventTooLargeError(msg)

    def _end_line(self, events: list[SseEvent]) -> None:
        line = self._torn[0] if len(self._torn) == 1 else b"".join(self._torn)
        self._torn = []
        if self._first_line:
            self._first_line = False
            line = line.removeprefix(_BOM)
        if not line:
            self._dispatch(events)
            return
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
        elif field == b"event":
            self._name = value
        elif field and field not in _NAMED and not self._any:
            self._stray.append(line)
        if field != b"data" and not self._stray:
            self._size -= len(line)  # Keep-alives may go on for ever.

    def _dispatch(self, events: list[SseEvent]) -> None:
        if self._data:
            self._any = True
            self._stray = []
            data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
            events.append(SseEvent(self._name.decode("utf-8", "replace"), data.decode("utf-8", "replace")))
        self._name, self._data = b"", []
        if not self._stray:
            self._size = 0
