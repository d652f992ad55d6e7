"""Leave out the middle of a text: both its ends say more than what lies between them."""

from __future__ import annotations

from typing import Final

_LEFT_OUT: Final = "\n[... {left} characters left out{where} ...]\n"
_HEAD_SHARE: Final = 2 / 3


def without_middle(text: str, limit: int, *, where: str = "") -> str:
    """Return at most `limit` characters of a text, its beginning and its end, and between them how much is missing.

    Args:
        text: Whole.
        limit: In characters, what is said in the middle included; a text that is no longer stays as it is.
        where: Where the rest can be had, as `; memory_read has them all`; empty says nothing of it.
    """
    if len(text) <= limit:
        return text
    widest = _LEFT_OUT.format(left=len(text), where=where)
    room = limit - len(widest)
    if room <= 0:
        return text[:limit]
    head = round(room * _HEAD_SHARE)
    tail = room - head
    said = _LEFT_OUT.format(left=len(text) - room, where=where)
    return f"{text[:head]}{said}{text[len(text) - tail :]}"
