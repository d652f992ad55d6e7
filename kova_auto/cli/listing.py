"""Show rows as a table that fits its place: the last column takes what room the others leave."""

from __future__ import annotations

from collections.abc import Sequence

from kova_auto.cli.ink import Ink
from kova_auto.cli.output import table


def listing(head: Sequence[str], rows: Sequence[Sequence[str]], ink: Ink) -> str:
    """Return rows under a head; the last cell of each is cleaned and cut to one line, the others are clean."""
    columns = range(len(head) - 1)
    taken = sum(max(len(line[column]) for line in (head, *rows)) + 2 for column in columns)
    return table(head, [(*row[:-1], ink.fit(row[-1], taken)) for row in rows])
