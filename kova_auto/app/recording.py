"""Write the script that plays a finished run again."""

from __future__ import annotations

from collections.abc import Sequence

from kova_auto.core.event import Event
from kova_auto.llm.recording import record


def recorded(events: Sequence[Event], children: Sequence[Sequence[Event]] = ()) -> str:
    """Return the script of a run's last attempt, and of its subagents, as a file's text."""
    return record(events, children)
