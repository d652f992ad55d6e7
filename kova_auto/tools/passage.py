"""Finds a passage in a text, whatever its line endings, and says what was nearly found."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches

_NUMBERED = re.compile(r"^ *\d+\t", re.MULTILINE)
_MAX_LINES = 5000
_MAX_COMPARED = 500
_MAX_SHOWN = 300


@dataclass(frozen=True, slots=True)
class Passage:
    """Hold a text and what is to be replaced in it, all with the same line endings.

    Attributes:
        crlf: Every line of the text ended with CRLF; here it is without the CRs.
    """

    text: str
    old: str
    new: str
    crlf: bool

    @classmethod
    def of(cls, text: str, old: str, new: str) -> Passage:
        """Compare by LF where the text ends every line with CRLF, and byte for byte where it mixes."""
        crlf = "\r\n" in text and text.count("\r\n") == text.count("\n")
        if not crlf:
            return cls(text, old, new, crlf=False)
        text, old, new = (part.replace("\r\n", "\n") for part in (text, old, new))
        return cls(text, old, new, crlf=True)

    def replaced(self) -> str:
        """Return the text with every occurrence replaced, in its own line endings."""
        after = self.text.replace(self.old, self.new)
        return after.replace("\n", "\r\n") if self.crlf else after


def found_at(passage: Passage) -> list[int]:
    """Return the line, from 1, of each occurrence; occurrences do not overlap."""
    lines, line, at = [], 1, 0
    while (found := passage.text.find(passage.old, at)) >= 0:
        line += passage.text.count("\n", at, found)
        lines.append(line)
        line += passage.old.count("\n")
        at = found + len(passage.old)
    return lines


def hint(passage: Passage) -> str:
    """Return what may have been meant by a passage that does not occur."""
    bare = _NUMBERED.sub("", passage.old)
    if bare != passage.old and bare in passage.text:
        return "It does without the line numbers: leave them out."
    lines = passage.text.split("\n")[:_MAX_LINES]
    wanted = [line.strip() for line in passage.old.strip().split("\n")]
    squeezed = [line.strip() for line in lines]
    for at in range(len(lines) - len(wanted) + 1):
        if squeezed[at : at + len(wanted)] == wanted:
            actual = "\n".join(lines[at : at + len(wanted)])
            return f"Lines {at + 1} to {at + len(wanted)} differ from it in white space only: {_shown(actual)}"
    near = [line for line in squeezed if len(line) <= _MAX_COMPARED]
    close = get_close_matches(max(wanted, key=len)[:_MAX_COMPARED], near, n=1, cutoff=0.6)
    if close:
        at = squeezed.index(close[0])
        return f"The nearest line is {at + 1}: {_shown(lines[at])}"
    return "Nothing like it does; read the file again."


def _shown(text: str) -> str:
    return repr(text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "...")
