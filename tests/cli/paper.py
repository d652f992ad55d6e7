"""Places to write to: a pipe, and a terminal that is no real one."""

from __future__ import annotations

from io import StringIO


class Terminal(StringIO):
    """Keep what is written, and claim that somebody looks."""

    def isatty(self) -> bool:
        return True


def rows(written: str) -> list[str]:
    """Return the rows that a person is left with: what a carriage return and a clearing took away is gone."""
    return [line.rpartition("\x1b[2K")[2] for line in written.split("\n")]
