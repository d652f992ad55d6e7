"""A journal that does not answer for a while, as a database that is restarted or has no room."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta

from kova_auto.core.errors import JournalBusyError
from kova_auto.core.event import Event
from kova_auto.core.ids import RunId
from kova_auto.core.ports import Agenda, Renewal
from kova_auto.core.run import RunState
from kova_auto.core.view import DeliveryRow, DueEndpoint
from tests.doubles.journal import MemoryJournal


class FlakyJournal(MemoryJournal):
    """Fail as often as a test says.

    Attributes:
        faults: How many further calls of each method fail; of `append`, by the kind of its event.
        broken: Methods that fail as none may.
        overtakes: A fact that somebody else writes just before the next one of a kind.
        unheard: How many further facts of each kind are written, and their writers told that they were not.
        asked: How often each was asked.
    """

    def __init__(self) -> None:
        super().__init__()
        self.faults: Counter[str] = Counter()
        self.broken: set[str] = set()
        self.overtakes: dict[str, Event] = {}
        self.unheard: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()
        self._awaited: list[tuple[str, int, asyncio.Event]] = []

    async def wait_for(self, name: str, further: int) -> None:
        """Wait until it was asked for this so many times more."""
        asked = asyncio.Event()
        self._awaited.append((name, self.asked[name] + further, asked))
        await asked.wait()

    async def events(self, run_id: RunId, after: int = 0) -> Sequence[tuple[int, Event]]:
        self._answer("events")
        return await super().events(run_id, after)

    async def append(
        self,
        state: RunState,
        event: Event,
        *,
        first: Sequence[Event] = (),
        epoch: int | None = None,
        blobs: Sequence[bytes] = (),
        reached: RunState | None = None,
    ) -> RunState:
        kinds = [one.kind for one in (*first, event)]
        for kind in kinds:
            self._answer(kind)
        for other in [self.overtakes.pop(kind) for kind in kinds if kind in self.overtakes]:
            await super().append(state, other)
        after = await super().append(state, event, first=first, epoch=epoch, blobs=blobs, reached=reached)
        for kind in kinds:
            self._hear(kind)
        return after

    async def renew(self, run_id: RunId, *, epoch: int, now: datetime, lease: timedelta) -> Renewal:
        self._answer("renew")
        return await super().renew(run_id, epoch=epoch, now=now, lease=lease)

    async def release(self, run_id: RunId, *, epoch: int) -> None:
        self._answer("release")
        await super().release(run_id, epoch=epoch)

    async def agenda(self, now: datetime, limit: int = 1000) -> Agenda:
        self._answer("agenda")
        return await super().agenda(now, limit)

    async def due_deliveries(
        self, now: datetime, *, run_id: RunId | None = None, endpoint: str | None = None, limit: int = 100
    ) -> Sequence[DeliveryRow]:
        self._answer("due_deliveries")
        return await super().due_deliveries(now, run_id=run_id, endpoint=endpoint, limit=limit)

    async def due_endpoints(self, now: datetime, *, run_id: RunId | None = None) -> Sequence[DueEndpoint]:
        self._answer("due_endpoints")
        return await super().due_endpoints(now, run_id=run_id)

    def _answer(self, name: str) -> None:
        self.asked[name] += 1
        if name in self.broken:
            raise ZeroDivisionError
        for wanted, times, event in self._awaited:
            if wanted == name and times <= self.asked[name]:
                event.set()
        if self.faults[name]:
            self.faults[name] -= 1
            msg = f"{name}: no answer"
            raise JournalBusyError(msg)

    def _hear(self, name: str) -> None:
        if self.unheard[name]:
            self.unheard[name] -= 1
            msg = f"{name}: the connection was cut"
            raise JournalBusyError(msg)
