"""Write for a person or for a program: text and tables, JSON, complaints; colour only on a terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

import typer

from kova_auto.settings.environment import environment, wants_color

RED, YELLOW, GREEN, DIM = "red", "yellow", "green", "dim"


def say(text: str = "") -> None:
    """Write one line, or several, to standard output."""
    typer.echo(text)


def say_json(value: object) -> None:
    """Write a value as indented JSON."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def complain(text: str, label: str = "error") -> None:
    """Write one line to standard error."""
    is_colored = wants_color(environment(), is_terminal=sys.stderr.isatty())
    tag = f"{label}:" if label else ""
    color = RED if label == "error" else YELLOW
    shown = typer.style(tag, fg=color, bold=True) if tag and is_colored else tag
    typer.echo(f"{shown} {text}".strip(), err=True)


def paint(text: str, color: str) -> str:
    """Return text in a colour, if standard output shows colours."""
    if not text or not wants_color(environment(), is_terminal=sys.stdout.isatty()):
        return text
    return typer.style(text, dim=True) if color == DIM else typer.style(text, fg=color)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return rows under a head, as wide as they need to be; the last column is not padded."""
    lines = [tuple(head), *map(tuple, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    shown = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
    return "\n".join([paint(shown[0], DIM), *shown[1:]])
