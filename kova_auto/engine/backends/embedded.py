"""The embedded engine: one process, a task for each run under way, the run table as its queue."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from kova_auto.core.errors import JournalError
from kova_auto.core.ids import RunId
from kova_auto.core.ports import Agenda, Clock
from kova_auto.engine.bells import Bells, Ear, heard
from kova_auto.engine.dispatch import Advance, Advanced

LOG = logging.getLogger(__name__)
LONGEST_NAP = timedelta(seconds=30)
SHORTEST_NAP = timedelta(milliseconds=50)
AGAIN = timedelta(seconds=1)
NO_JOURNAL = timedelta(seconds=5)
_NOT_AT_ONCE = frozenset({Advanced.BUSY, Advanced.DONE})  # What is done is not runnable; where it is, something is odd.


class Agendas(Protocol):
    """Know what there is to do; of `Views`."""

    async def agenda(self, now: datetime, limit: int = 1000) -> Agenda:
        """Return which runs can go on now, at most so many, and when the next will."""


@dataclass(frozen=True, slots=True)
class _Busy:
    """Hold how often in a row a run could not be advanced, and when that is tried again."""

    times: int
    until: datetime


class Embedded:
    """Hand runnable runs to tasks of this process, oldest first."""

    def __init__(self, views: Agendas, clock: Clock, bells: Bells) -> None:
        """Look for work in `views`, whenever a bell rings or an instant comes."""
        self._views, self._clock, self._bells = views, clock, bells
        self._tasks: dict[RunId, asyncio.Task[Advanced]] = {}
        self._busy: dict[RunId, _Busy] = {}

    def submit(self, run_id: RunId) -> None:
        """Have a run advanced soon."""
        LOG.debug("run %s is submitted", run_id)
        self._bells.work()

    async def serve(self, advance: Advance, *, slots: int, stop: asyncio.Event) -> None:
        """Advance runs until `stop` is set and those under way have come back; where this breaks, they are let go."""
        stopping = asyncio.create_task(stop.wait())
        try:
            with self._bells.hung(Ear.WORK) as bell:
                stopping.add_done_callback(lambda _: bell.set())
                while not stop.is_set():
                    nap = await self._pass(advance, slots)
                    await heard(bell, nap.total_seconds())
        except BaseException:
            for task in self._tasks.values():
                task.cancel()
            raise
        finally:
            stopping.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _pass(self, advance: Advance, slots: int) -> timedelta:
        """Start what can go; return how long nothing can change by itself."""
        now = self._clock.now()
        try:
            agenda = await self._views.agenda(now)
        except JournalError as exc:
            LOG.warning("runs wait: %s", exc)
            return NO_JOURNAL
        self._start_what_can_go(agenda.ready, advance, slots, now)
        instants = [agenda.wake_at, *(busy.until for busy in self._busy.values())]
        waits = [instant - now for instant in instants if instant and instant > now]
        return min(max(min(waits, default=LONGEST_NAP), SHORTEST_NAP), LONGEST_NAP)

    def _start_what_can_go(self, ready: Sequence[RunId], advance: Advance, slots: int, now: datetime) -> None:
        """Fill the free slots, oldest first; a slot that becomes free later rings."""
        still = frozenset(ready) if self._busy else frozenset[RunId]()
        self._busy = {run_id: busy for run_id, busy in self._busy.items() if run_id in still}
        for run_id in ready:
            if len(self._tasks) >= slots:
                return
            if self._may_be_tried(run_id, now):
                self._start(run_id, advance)

    def _may_be_tried(self, run_id: RunId, now: datetime) -> bool:
        busy = self._busy.get(run_id)
        return run_id not in self._tasks and (busy is None or busy.until <= now)

    def _start(self, run_id: RunId, advance: Advance) -> None:
        task = asyncio.ensure_future(advance(run_id))
        self._tasks[run_id] = task
        task.add_done_callback(lambda _: self._ended(run_id, task))

    def _ended(self, run_id: RunId, task: asyncio.Future[Advanced]) -> None:
        del self._tasks[run_id]
        if not task.cancelled() and (task.exception() or task.result() in _NOT_AT_ONCE):
            self._hold_back(run_id)
        else:
            self._busy.pop(run_id, None)
        self._bells.work()

    def _hold_back(self, run_id: RunId) -> None:
        """Try a run again later, and ever later, so that one that cannot be advanced takes nothing from the others."""
        times = self._busy[run_id].times + 1 if run_id in self._busy else 1
        wait = min(AGAIN * 2 ** min(times - 1, 10), LONGEST_NAP)
        self._busy[run_id] = _Busy(times, self._clock.now() + wait)
