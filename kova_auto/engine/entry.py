"""What performing a step yields: facts, each with the blobs it points to."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass

from kova_auto.core.event import Event


@dataclass(frozen=True, slots=True)
class Entry:
    """Hold one fact to be written, with the blobs it points to."""

    event: Event
    blobs: tuple[bytes, ...] = ()


Entries = AsyncGenerator[Entry, None]
