"""Compiles wildcard patterns as git reads them, so that no pattern takes long, whoever wrote it.

Between slashes `*` and `?` stand for any signs but `/`, `[...]` for one of a set; `**` as a whole component stands for
any number of directories. Each piece between two stars is committed to where it first fits: what follows a star can
start anywhere later, so a later place never helps, and a failing match does not try them all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

_STAR, _DIRS, _REST = "*", "**/", "**"
_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": r" \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": r"\x21-\x7e",
    "lower": "a-z",
    "print": r"\x20-\x7e",
    "punct": r"\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e",
    "space": r"\t\n\x0b\x0c\r ",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}
_SPECIAL = re.compile(r"[*?\[\\]")
_MAX_ALTERNATIVES = 64


class BadPatternError(ValueError):
    """Say that a pattern matches nothing: a set without an end, or a backslash before nothing."""


def compile_wildcard(pattern: str) -> re.Pattern[str]:
    """Return what fully matches a path.

    Raises:
        BadPatternError: Nothing matches it.
    """
    start = _SPECIAL.search(pattern)
    at = start.start() if start else len(pattern)
    # git compares what comes before the first special sign as it is, and reads `**` behind it as a component's begin.
    return re.compile(re.escape(pattern[:at]) + _joined(list(_Pieces(pattern[at:]))), re.DOTALL)


@dataclass(slots=True)
class _Pieces:
    """Take a pattern apart into stars, and regular expressions of one sign each."""

    text: str
    at: int = 0

    def __iter__(self) -> Iterator[str]:
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == "*":
                yield self._stars()
            elif char == "[":
                yield self._set()
            else:
                yield self._one(char)

    def _one(self, char: str) -> str:
        self.at += 1
        if char == "\\":
            if self.at == len(self.text):
                raise BadPatternError(self.text)
            char = self.text[self.at]
            self.at += 1
        elif char == "?":
            return "[^/]"
        return re.escape(char)

    def _stars(self) -> str:
        first = self.at
        while self.text[self.at : self.at + 1] == "*":
            self.at += 1
        behind = self.text[self.at : self.at + 1]
        begins = first == 0 or self.text[first - 1] == "/"
        if self.at - first < 2 or not begins or behind not in ("", "/"):
            return _STAR
        self.at += len(behind)
        return _DIRS if behind else _REST

    def _set(self) -> str:
        self.at += 1
        negated = self.text[self.at : self.at + 1] in ("!", "^")
        self.at += negated
        members: list[str] = []
        first = True
        while first or self._peek() != "]":
            first = False
            members.append(self._member())
        self.at += 1
        found = "".join(members)
        if not found:
            return "[^/]" if negated else "(?!)"
        return f"(?!/)[{'^' if negated else ''}{found}]"

    def _member(self) -> str:
        """Return one sign, range or class of a set."""
        if self.text.startswith("[:", self.at):
            end = self.text.find("]", self.at + 2)
            if end > self.at + 2 and self.text[end - 1] == ":":
                return self._class(end)
        low = self._set_char()
        if self._peek() != "-" or self.text[self.at + 1 : self.at + 2] in ("]", ""):
            return re.escape(low)
        self.at += 1
        high = self._set_char()
        return f"{re.escape(low)}-{re.escape(high)}" if low <= high else ""

    def _class(self, end: int) -> str:
        name = self.text[self.at + 2 : end - 1]
        if name not in _CLASSES:
            raise BadPatternError(self.text)
        self.at = end + 1
        return _CLASSES[name]

    def _set_char(self) -> str:
        char = self._peek()
        self.at += 1
        if char == "\\":
            char = self._peek()
            self.at += 1
        return char

    def _peek(self) -> str:
        if self.at >= len(self.text):
            raise BadPatternError(self.text)
        return self.text[self.at]


def _joined(pieces: list[str]) -> str:
    """Return one regular expression; only the last star of each kind may try several places."""
    if _DIRS not in pieces:
        return _without_dirs(pieces)
    at = pieces.index(_DIRS)
    first, rest = _without_dirs(pieces[:at]), pieces[at + 1 :]
    if _DIRS not in rest:
        return f"{first}(?:.*?/)??{_joined(rest)}"
    # What lies between two of them is committed to where it first fits.
    end = rest.index(_DIRS)
    return f"{first}(?>(?:.*?/)??{_without_dirs(rest[:end])}){_joined(rest[end:])}"


def _without_dirs(pieces: list[str]) -> str:
    """Return the expression for pieces that stay within their components."""
    found: list[str] = []
    at = 0
    while at < len(pieces):
        piece = pieces[at]
        at += 1
        if piece == _REST:
            found.append(".*")
        elif piece != _STAR:
            found.append(piece)
        else:
            end = at
            while end < len(pieces) and pieces[end] not in (_STAR, _REST, "/"):
                end += 1
            fixed = "".join(pieces[at:end])
            more = end < len(pieces) and pieces[end] == _STAR
            found.append(f"(?>[^/]*?{fixed})" if more else f"[^/]*{fixed}")
            at = end
    return "".join(found)


def expand_braces(pattern: str) -> list[str]:
    """Return a pattern's alternatives: `a{b,c}` is `ab` or `ac`; escaped signs are left alone.

    Raises:
        BadPatternError: There are too many.
    """
    done, todo = [], [pattern]
    while todo:
        text = todo.pop(0)
        found = _first_braces(text)
        if found is None:
            done.append(text)
            continue
        start, commas, end = found
        marks = [start, *commas, end]
        todo += [text[:start] + text[a + 1 : b] + text[end + 1 :] for a, b in pairwise(marks)]
        if len(todo) + len(done) > _MAX_ALTERNATIVES:
            raise BadPatternError(pattern)
    return done


def _first_braces(text: str) -> tuple[int, list[int], int] | None:
    """Return where the first braces with a comma begin, their commas, and where they end."""
    opened: list[tuple[int, list[int]]] = []
    at = 0
    while at < len(text):
        char = text[at]
        if char == "\\":
            at += 1
        elif char == "{":
            opened.append((at, []))
        elif char == "," and opened:
            opened[-1][1].append(at)
        elif char == "}" and opened:
            start, commas = opened.pop()
            if commas:
                return start, commas, at
        at += 1
    return None
