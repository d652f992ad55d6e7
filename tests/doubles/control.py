"""A service that holds one run, and lets facts happen when a test says so."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from kova_auto.app.connect import Connection
from kova_auto.app.control import Control, Placed
from kova_auto.core.errors import KovaError
from kova_auto.core.event import Event
from kova_auto.core.ids import RunId


@dataclass
class FakeService:
    """Answer what who follows a run asks.

    Attributes:
        facts: What has happened so far.
        asked: What was asked to be changed, in words.
        fails: Raised by the next questions about facts, first things first.
        on_cancel: What happens once somebody cancels; a KovaError refuses.
    """

    facts: list[Event]
    asked: list[str] = field(default_factory=list)
    fails: list[KovaError] = field(default_factory=list)
    on_cancel: Sequence[Event] | KovaError = ()
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def connection(self) -> Connection:
        """Return a connection to it, as to a live service."""
        return Connection(cast("Control", self), None)

    def tell(self, *events: Event) -> None:
        """Let further facts happen."""
        self.facts.extend(events)
        self._news.set()

    async def events(self, run_id: RunId, after: int, wait_s: float) -> tuple[Placed, ...]:
        del run_id
        if self.fails:
            raise self.fails.pop(0)
        if wait_s > 0 and len(self.facts) <= after:
            self._news.clear()
            await self._news.wait()
        return tuple(Placed(seq=seq, event=event) for seq, event in enumerate(self.facts, 1) if seq > after)

    async def cancel(self, run_id: RunId, by: str, reason: str) -> None:
        self.asked.append(f"cancel {run_id} by {by}: {reason}")
        if isinstance(self.on_cancel, KovaError):
            raise self.on_cancel
        self.tell(*self.on_cancel)
