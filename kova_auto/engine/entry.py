"""What performing a step yields: facts, each with the blobs it points to."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass

from kova_auto.core.event import (
    CallStarted,
    ChecksStarted,
    CompactionStarted,
    Event,
    ModelCallStarted,
    ProcessStarted,
    WritePlanned,
)

_ANNOUNCING = ModelCallStarted | CompactionStarted | CallStarted | ProcessStarted | WritePlanned | ChecksStarted


@dataclass(frozen=True, slots=True)
class Entry:
    """Hold one fact to be written, with the blobs it points to.

    Attributes:
        waits: Losing this fact would lose nothing that has happened, or a moment's work that changed nothing: it may be
            written together with the next one, at the latest when a moment is over or before anything changes.
        also: What is there at the same moment, and written behind it.
        more: The step goes on, whatever this is.
    """

    event: Event
    blobs: tuple[bytes, ...] = ()
    waits: bool = False
    also: tuple[Entry, ...] = ()
    more: bool = False

    @property
    def announces(self) -> bool:
        """Say whether the step goes on: what is written is only about to happen, or not all. Another is its last."""
        return self.more or isinstance(self.event, _ANNOUNCING)


Entries = AsyncGenerator[Entry, None]
