"""Write a run's lines where they belong: on a terminal all in their order, else the answer apart from the rest."""

from __future__ import annotations

import shutil
import sys
import unicodedata
from typing import TextIO

from kova_auto.cli.ink import ink_for
from kova_auto.cli.output import DIM
from kova_auto.core.delivery.text import one_line
from kova_auto.settings.environment import Environment, environment

_CLEAR = "\r\x1b[2K"


class Screen:
    """Hold two streams.

    `line` goes to `notes`, `result` to `results`. On a terminal these are one, and `status` is a line of its own that
    the next one takes away.

    Attributes:
        is_one: Results and notes go to the same place.
    """

    def __init__(self, results: TextIO, notes: TextIO, environ: Environment, *, apart: bool = False) -> None:
        """Take the two streams.

        Args:
            results: For what a reader or a program waits for.
            notes: For everything else.
            environ: Says what the terminal can do.
            apart: Keep them apart on a terminal too.
        """
        self._results = results
        self._notes = results if results.isatty() and not apart else notes
        self._is_live = self._notes.isatty() and environ.get("TERM") != "dumb"
        self._has_status = False
        self.is_one = self._notes is self._results
        self.ink = ink_for(self._notes, environ)

    def line(self, text: str = "") -> None:
        """Write a line beside the result."""
        self._clear()
        self._notes.write(f"{text}\n")
        self._notes.flush()

    def result(self, text: str) -> None:
        """Write a part of the result."""
        self._clear()
        self._results.write(f"{text}\n")
        self._results.flush()

    def status(self, text: str) -> None:
        """Say what is going on, where somebody looks: it is gone with the next line."""
        if not self._is_live:
            return
        self._clear()
        if text:
            self._notes.write(self.ink(_fitting(text, shutil.get_terminal_size().columns), DIM))
            self._has_status = True
        self._notes.flush()

    def _clear(self) -> None:
        if self._has_status:
            self._notes.write(_CLEAR)
            self._has_status = False


def screen(*, apart: bool = False) -> Screen:
    """Return the screen of this process."""
    return Screen(sys.stdout, sys.stderr, environment(), apart=apart)


def _fitting(text: str, columns: int) -> str:
    """Return text cut to one row of a terminal; a wide character takes two columns."""
    is_wide = any(unicodedata.east_asian_width(character) in "WF" for character in text)
    return one_line(text, columns // 2 if is_wide else columns - 1)
