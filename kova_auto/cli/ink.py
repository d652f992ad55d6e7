"""Write for one place that text may go to: in colour or not, and as wide as it is."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from typing import Final, TextIO

import typer

from kova_auto.cli.output import DIM
from kova_auto.core.delivery.text import one_line
from kova_auto.settings.environment import Environment, environment, wants_color

WIDTH: Final = 160
_NARROWEST: Final = 40


@dataclass(frozen=True, slots=True)
class Ink:
    """Know one place.

    Attributes:
        shows: It shows colours.
        width: Characters that one line should hold.
    """

    shows: bool = False
    width: int = WIDTH

    def __call__(self, text: str, color: str = "", *, bold: bool = False) -> str:
        """Return the text in a colour of `cli.output`, or as it is where nobody sees colours."""
        if not (text and self.shows):
            return text
        if color == DIM:
            return typer.style(text, dim=True)
        return typer.style(text, fg=color or None, bold=bold or None)

    def fit(self, text: str, beside: int) -> str:
        """Return text as one clean line that leaves room for so many characters beside it."""
        return one_line(text, max(self.width - beside, _NARROWEST))


def ink_for(stream: TextIO, environ: Environment) -> Ink:
    """Return the ink of a stream."""
    if not stream.isatty():
        return Ink()
    return Ink(wants_color(environ, is_terminal=True), shutil.get_terminal_size().columns)


def ink() -> Ink:
    """Return the ink of standard output."""
    return ink_for(sys.stdout, environment())
