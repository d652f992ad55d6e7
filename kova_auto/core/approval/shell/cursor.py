"""A place in a command's text, seen as bash sees it: lines that a backslash joins are one line."""

from __future__ import annotations

from dataclasses import dataclass

from kova_auto.core.approval.shell.refusal import Refusal, Refused


class Unreadable(Exception):  # noqa: N818 - it never leaves the room; `lex` returns what it carries
    """Stop reading."""

    def __init__(self, code: Refusal, at: int) -> None:
        super().__init__(code, at)
        self.refused = Refused(code, at)


@dataclass(slots=True)
class Cursor:
    """Hold where reading is.

    Attributes:
        at: Offset of the next character, from 0.
    """

    text: str
    at: int = 0

    def peek(self) -> str:
        """Return the next character, empty at the end, having stepped over joined lines.

        Neither single quotes nor comments know joined lines: what reads those does not ask here.
        """
        char = self.text[self.at : self.at + 1]
        while char == "\\" and self.text.startswith("\n", self.at + 1):
            self.at += 2
            char = self.text[self.at : self.at + 1]
        return char
