"""A stretch of time in a run, as tracing sees it; and the ids by which each is the same whenever it is written."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import datetime

from pydantic import JsonValue

from kova_auto.core.ids import RunId

Attributes = dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Moment:
    """Hold something that happened at one instant of a span."""

    at: datetime
    name: str
    attributes: Attributes = field(default_factory=dict)


@dataclass
class Span:
    """Hold one span.

    Attributes:
        seq: Position of the fact with which it begins.
        kind: What it is: `run`, `iteration`, `chat`, `tool` or `retry`.
        parent: None for the run itself.
        calls_out: Somebody outside is asked.
        ended_at: None while it goes on.
        error: Why it failed; None where it did not.
    """

    seq: int
    kind: str
    name: str
    parent: Span | None
    began_at: datetime
    calls_out: bool = False
    ended_at: datetime | None = None
    error: str | None = None
    attributes: Attributes = field(default_factory=dict)
    moments: list[Moment] = field(default_factory=list)

    def end(self, at: datetime, error: str | None = None) -> None:
        """End it, well or not."""
        self.ended_at, self.error = at, error


def trace_id(run_id: RunId) -> str:
    """Return the id of a run's trace: 32 hexadecimal digits."""
    return hashlib.sha256(f"trace\n{run_id}".encode()).hexdigest()[:32]


def span_id(run_id: RunId, kind: str, seq: int) -> str:
    """Return the id of a span of a run: 16 hexadecimal digits."""
    return hashlib.sha256(f"span\n{run_id}\n{kind}\n{seq}".encode()).hexdigest()[:16]
