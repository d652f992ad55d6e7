"""Bounds what a model is shown."""

from __future__ import annotations

import unicodedata

MAX_TEXT_BYTES = 64 * 1024
"""No result shows the model more text than this."""

SHOWN_BYTES = MAX_TEXT_BYTES - 1024
"""What a tool may fill with content: the rest is kept for saying what was left out."""


def cut(line: str, limit: int) -> str:
    """Return a line of at most `limit` characters; where it was longer, it says so."""
    return line if len(line) <= limit else f"{line[:limit]}[... {len(line) - limit} more characters]"


def printable(name: str) -> str:
    """Return a file's name as one line that can be journaled: odd bytes and control characters are shown escaped."""
    text = name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    if text.isprintable():
        return text
    return "".join(
        char if unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Zl", "Zp") else ascii(char)[1:-1] for char in text
    )


def head(text: str, limit: int) -> str:
    """Return the whole lines that fit in `limit` bytes of UTF-8, or the beginning of the first one."""
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return text
    kept = data[:limit]
    at = kept.rfind(b"\n")
    return kept[: at if at > 0 else limit].decode("utf-8", "ignore")
