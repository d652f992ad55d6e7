"""What performing a step yields: facts, each with the blobs it points to."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass

from kova_auto.core.event import CallStarted, Event, ModelCallStarted, ProcessStarted, WritePlanned


@dataclass(frozen=True, slots=True)
class Entry:
    """Hold one fact to be written, with the blobs it points to."""

    event: Event
    blobs: tuple[bytes, ...] = ()

    @property
    def announces(self) -> bool:
        """Say whether the step goes on: what is written is only about to happen. Any other fact is its step's last."""
        return isinstance(self.event, ModelCallStarted | CallStarted | ProcessStarted | WritePlanned)


Entries = AsyncGenerator[Entry, None]
