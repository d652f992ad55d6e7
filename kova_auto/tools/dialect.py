r"""Turns a regular expression into one that ripgrep and Python read alike, or says why there is none.

Both search line by line. What only one of them knows (lookaround, back references, `\p{...}`) is refused, what they
would read differently is written so that there is one reading. Outside ASCII, the two differ in rare signs only.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, field
from typing import NoReturn

from kova_auto.core.errors import ToolArgumentsError

_MAX_CHARS = 1000
_MAX_REPEAT = 1000
_META = frozenset(r"\.+*?()|[]{}^$#&-~")
_SHORTHANDS = frozenset("dDwWsSbtrfva")  # \B is read differently on empty lines
_IN_SET = frozenset("dDwWsStrfva")
_HEX = re.compile(r"x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}")
_REPEAT = re.compile(r"\{(\d+)(?:(,)(\d*))?\}|\{,(\d+)\}")
_GROUP = re.compile(r"\(\?(:|i:|P?<[A-Za-z_]\w*>)")
_POSIX = re.compile(r"\[:(\^?)(\w+):\]")
_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": r" \t",
    "digit": "0-9",
    "lower": "a-z",
    "punct": r"!-/:-@\[-`{-\~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}


def common_dialect(pattern: str) -> str:
    """Return an equal pattern that both read alike.

    Raises:
        ToolArgumentsError: There is none; the message says which part is not understood.
    """
    if len(pattern) > _MAX_CHARS:
        message = f"pattern: wanted at most {_MAX_CHARS} characters, found {len(pattern)}"
        raise ToolArgumentsError(message)
    written = _Rewriter(pattern).rewritten()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            re.compile(written)
    except (re.error, FutureWarning, DeprecationWarning, OverflowError, RecursionError) as exc:
        message = f"pattern {pattern!r} is no regular expression: {exc}"
        raise ToolArgumentsError(message) from exc
    return written


@dataclass(slots=True)
class _Rewriter:
    """Go through a pattern sign by sign."""

    text: str
    at: int = 0
    done: list[str] = field(default_factory=list)

    def rewritten(self) -> str:
        if self.text.startswith("(?i)"):
            self._take(4, "(?i)")
        while self.at < len(self.text):
            self._sign(self.text[self.at])
        return "".join(self.done)

    def _sign(self, char: str) -> None:
        match char:
            case "\\":
                self._escape(_SHORTHANDS)
            case "[":
                self._set()
            case "(":
                self._group()
            case "{":
                self._braces()
            case "*" | "+" | "?":
                self._quantifier(char)
            case "$":
                self._take(1, r"(?:\r?$)")  # lines may end with CRLF
            case "\n" | "\r":
                self._refuse("a line break: patterns are matched line by line")
            case _:
                self._take(1, char)

    def _take(self, length: int, written: str) -> None:
        self.at += length
        self.done.append(written)

    def _refuse(self, what: str) -> NoReturn:
        message = f"pattern {self.text!r} is not understood at position {self.at}: {what}"
        raise ToolArgumentsError(message)

    def _escape(self, known: frozenset[str]) -> None:
        char = self.text[self.at + 1 : self.at + 2]
        if hexadecimal := _HEX.match(self.text, self.at + 1):
            self._take(1 + len(hexadecimal[0]), "\\" + hexadecimal[0])
        elif char == "n":
            self._refuse("a line break: patterns are matched line by line")
        elif char in ("<", ">"):
            self._refuse(r"\< and \> are read differently; use \b")
        elif char.isdigit():
            self._refuse("back references and octal numbers are not supported")
        elif not char or (char.isalpha() and char not in known) or not char.isascii():
            self._refuse(f"\\{char} is not supported")
        else:
            self._take(2, f"\\{char}" if char in known or char in _META else char)

    def _group(self) -> None:
        if self.text[self.at + 1 : self.at + 2] != "?":
            self._take(1, "(")
            return
        known = _GROUP.match(self.text, self.at)
        if known is None:
            self._refuse("only (...), (?:...), (?i:...), (?P<name>...) and (?i) at the start are supported")
        self._take(len(known[0]), known[0].replace("(?<", "(?P<"))

    def _braces(self) -> None:
        found = _REPEAT.match(self.text, self.at)
        if found is None:
            self._take(1, r"\{")
            return
        numbers = [int(number) for number in (found[1], found[3], found[4]) if number]
        if max(numbers) > _MAX_REPEAT:
            self._refuse(f"more than {_MAX_REPEAT} repetitions")
        self._quantifier(found[0], written=found[0].replace("{,", "{0,"))

    def _quantifier(self, text: str, written: str = "") -> None:
        self._take(len(text), written or text)
        behind = self.text[self.at : self.at + 1]
        if behind in ("+", "*") or _REPEAT.match(self.text, self.at):
            self._refuse("one quantifier behind another")
        if behind == "?":
            self._take(1, "?")
            if self.text[self.at : self.at + 1] in ("+", "*", "?") or _REPEAT.match(self.text, self.at):
                self._refuse("one quantifier behind another")

    def _set(self) -> None:
        """Write a set so that no sign in it is special to only one of the two."""
        self._take(1, "[")
        if self.text[self.at : self.at + 1] == "^":
            self._take(1, "^")
        first = True
        while first or self.text[self.at : self.at + 1] != "]":
            if self.at >= len(self.text):
                self._refuse("a set without its ']'")
            self._member(first=first)
            first = False
        self._take(1, "]")

    def _member(self, *, first: bool) -> None:
        char = self.text[self.at]
        if char == "\\":
            self._escape(_IN_SET)
        elif char in ("\n", "\r"):
            self._refuse("a line break: patterns are matched line by line")
        elif char == "[" and (named := _POSIX.match(self.text, self.at)):
            if named[1] or named[2] not in _CLASSES:
                self._refuse(f"{named[0]} is not supported")
            self._take(len(named[0]), _CLASSES.get(named[2], ""))
        elif char == "-" and not first and self.text[self.at + 1 : self.at + 2] == "-":
            self._refuse(r"-- in a set; write \-")
        elif char in "[&~^" or (char == "]" and first):
            self._take(1, f"\\{char}")
        else:
            self._take(1, char)
