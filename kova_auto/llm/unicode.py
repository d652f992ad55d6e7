"""Put text together whose characters were torn in two by JSON escapes.

A server that cuts its output by UTF-16 units sends the two surrogates of one character in two pieces. Each half alone
is no text that can be written down.
"""

from __future__ import annotations


def is_sound(text: str) -> bool:
    """Say whether the text can be written as UTF-8."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def mended(text: str) -> str:
    """Join halves that stand together, and replace those that stand alone."""
    if text.isascii() or is_sound(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def joined(before: str, piece: str) -> str:
    """Return both as one text, a character that was torn between them made whole."""
    whole = before + piece
    return whole if is_sound(whole) else whole.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


class Pieces:
    """Collect pieces of a text; what is given back for each can be shown at once."""

    def __init__(self) -> None:
        self._whole: list[str] = []
        self._half = ""
        self.size = 0

    def add(self, piece: str) -> str:
        """Take one piece; return what it adds, a torn character kept back until its other half comes."""
        if not piece:
            return ""
        if self._half or not (piece.isascii() or is_sound(piece)):
            piece = self._half + piece
            cut = len(piece) - ("\ud800" <= piece[-1] <= "\udbff")
            piece, self._half = mended(piece[:cut]), piece[cut:]
        if piece:
            self._whole.append(piece)
            self.size += len(piece)
        return piece

    def text(self) -> str:
        """Return everything so far; a half that stayed alone is replaced."""
        return "".join(self._whole) + mended(self._half)
