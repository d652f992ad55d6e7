"""Sifts what a server sends: answers that were asked for pass, a few questions too, and the rest is noise with a bound.

A server may send whatever it likes whenever it likes. Each notification would be a task of its own further in; here it
is dropped, save that the list of tools has changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue

from kova_auto.core.mcp.listing import beginning

MAX_NOISE_BYTES: Final = 4 << 20
MAX_NOISE: Final = 20_000
MAX_QUESTIONS: Final = 1_000
_LOOKED_AT, _EXCERPT = 4_096, 80
_CHANGED = "notifications/tools/list_changed"

Id = str | int | None


class FloodError(Exception):
    """Say that a server sends more than anybody asked for."""


class Sieve:
    """Sift the messages of one connection."""

    def __init__(self) -> None:
        """Begin with nothing asked."""
        self.stale = False
        """The server has said that its list of tools has changed."""
        self.fault = ""
        """What the connection was ended for; empty where it was not."""
        self.excerpt = ""
        """The beginning of the first line that was no message."""
        self._asked: set[Id] = set()
        self._questions = self._noise = self._noise_bytes = 0

    def asks(self, message: Mapping[str, JsonValue]) -> None:
        """Take note of what is sent to the server."""
        if "method" in message and "id" in message:
            self._asked.add(_plain(message["id"]))

    def passes(self, message: Mapping[str, JsonValue], size: int) -> bool:
        """Say whether a message from the server goes on inwards.

        Raises:
            FloodError: There has been too much that nobody asked for.
        """
        if "method" not in message:
            key = _plain(message.get("id"))
            if key in self._asked:
                self._asked.discard(key)
                return True
        elif "id" in message:
            self._questions += 1
            if self._questions <= MAX_QUESTIONS:
                return True
        elif message["method"] == _CHANGED:
            self.stale = True
        self.drops(size)
        return False

    def drops(self, size: int, line: bytes = b"") -> None:
        """Count what is dropped.

        Raises:
            FloodError: It is too much.
        """
        self.excerpt = self.excerpt or beginning(line[:_LOOKED_AT].decode(errors="replace"), _EXCERPT)
        self._noise += 1
        self._noise_bytes += size
        if self._noise > MAX_NOISE or self._noise_bytes > MAX_NOISE_BYTES:
            self.fault = "it sends more than anybody asked for"
            raise FloodError(self.fault)


def _plain(value: JsonValue) -> Id:
    """Return an id as it is compared: servers give a number back as a text, and the library lets them."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return str(value)
