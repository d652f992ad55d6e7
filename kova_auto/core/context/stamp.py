"""Say in a note when something was kept in it, by which run, and what untrusted text that had read; and read it again.

What a tainted run keeps may be the words of somebody else. So its notes say so, and whoever is shown one of them is
tainted as well, until a person has looked at the note and taken the line out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from kova_auto.core.context.memory import Note
from kova_auto.core.ids import RunId

_READ: Final = ", which had read "
_LINE: Final = re.compile(rf"^<!-- \d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\dZ run \S+{_READ}(.+) -->\s*$", re.MULTILINE)
_NOTE: Final = "the note "
_MAX_SOURCE: Final = 300


def stamp(now: datetime, run_id: RunId, tainted_by: str = "") -> str:
    """Return the comment that stands above what a run keeps; one line, which nothing in it can end.

    Args:
        now: UTC.
        run_id: Of the run; without blanks.
        tainted_by: Untrusted text that it has read; empty where it has read none.
    """
    read = f"{_READ}{tainted_by[:_MAX_SOURCE]}" if tainted_by else ""
    said = f"{now.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ} run {run_id}{read}"
    return f"<!-- {' '.join(said.split()).replace('--', '- -').replace('>', '%3E')} -->"


def untrusted(notes: Iterable[Note]) -> str:
    """Return the first untrusted text that may stand in notes, as their stamps say; empty where there is none."""
    for note in notes:
        if found := _LINE.search(note.text):
            source = found[1]
            return source if source.startswith(_NOTE) else f"{_NOTE}{note.label}, kept after reading {source}"
    return ""
