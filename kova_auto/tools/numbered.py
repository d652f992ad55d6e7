"""Shows a text by numbered lines, as many as fit, and says what else there is to know of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kova_auto.core.errors import ToolFailedError
from kova_auto.tools.encoding import Text
from kova_auto.tools.output import SHOWN_BYTES, cut

MAX_LINE = 2000


@dataclass(frozen=True, slots=True)
class Numbered:
    """Hold what is shown of a text; `whole` says that no line is missing."""

    text: str
    whole: bool


def numbered(text: Text, first: int = 1, count: int | None = None, *, most: int = SHOWN_BYTES) -> Numbered:
    """Return the lines that were asked for, as many as fit.

    Args:
        text: Of a file.
        first: Line to begin with, from 1.
        count: How many; None for all that there are.
        most: Bytes of UTF-8 that the lines have at most.

    Raises:
        ToolFailedError: It has no such line.
    """
    if not text.text:
        return Numbered("[the file is empty]", whole=True)
    lines = text.readable.removesuffix("\n").split("\n")
    last = min(len(lines), first + count - 1 if count else len(lines))
    if first > len(lines):
        message = f"offset {first} is behind the end: it has {len(lines)} lines"
        raise ToolFailedError(message)
    kept, size = [], 0
    for number in range(first, last + 1):
        line = f"{number}\t{cut(lines[number - 1].removesuffix(chr(13)), MAX_LINE)}"
        size += len(line.encode()) + 1
        if size > most:
            last = number - 1
            break
        kept.append(line)
    shown = "\n".join([*kept, *_notices(text, lines, last)])
    return Numbered(shown, whole=first == 1 and last == len(lines))


def _notices(text: Text, lines: Sequence[str], last: int) -> list[str]:
    notices = []
    if last < len(lines):
        notices.append(f"[{len(lines) - last} more lines of {len(lines)}; go on with offset={last + 1}]")
    if text.odd:
        notices.append(f"[{text.odd} bytes are no UTF-8; each is shown as \ufffd]")
    if text.encoding != "utf-8" or text.mark:
        notices.append(f"[encoding: {text.encoding} with a byte order mark]")
    endings = {"CRLF" if line.endswith("\r") else "LF" for line in lines[:-1]}
    if "CRLF" in endings:
        notices.append("[line endings: CRLF]" if endings == {"CRLF"} else "[line endings: CRLF and LF, mixed]")
    return notices
