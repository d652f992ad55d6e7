"""The embedded engine: one process, a task for each run under way, the run table as its queue."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta

from kova_auto.core.ids import RunId
from kova_auto.core.ports import Clock, Views
from kova_auto.core.view import RunRow
from kova_auto.engine.bells import Bells, Ear, heard
from kova_auto.engine.dispatch import Advance, Advanced

LOG = logging.getLogger(__name__)
LONGEST_NAP = timedelta(seconds=30)
SHORTEST_NAP = timedelta(milliseconds=50)
AGAIN = timedelta(seconds=1)


class Embedded:
    """Hand runnable runs to tasks of this process, oldest first."""

    def __init__(self, views: Views, clock: Clock, bells: Bells) -> None:
        """Look for work in `views`, whenever a bell rings or an instant comes."""
        self._views, self._clock, self._bells = views, clock, bells
        self._tasks: dict[RunId, asyncio.Task[Advanced]] = {}
        self._writers: dict[str, RunId] = {}

    def submit(self, run_id: RunId) -> None:
        """Have a run advanced soon."""
        LOG.debug("run %s is submitted", run_id)
        self._bells.work()

    async def serve(self, advance: Advance, *, slots: int, stop: asyncio.Event) -> None:
        """Advance runs until `stop` is set and those under way have come back."""
        waiting = asyncio.create_task(stop.wait())
        try:
            with self._bells.hung(Ear.WORK) as bell:
                waiting.add_done_callback(lambda _: bell.set())
                while not stop.is_set():
                    nap = await self._start_what_can_go(advance, slots)
                    await heard(bell, nap.total_seconds())
        finally:
            waiting.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _start_what_can_go(self, advance: Advance, slots: int) -> timedelta:
        """Fill the free slots; return how long nothing can change by itself."""
        now = self._clock.now()
        for run_id in await self._views.runnable(now):
            if len(self._tasks) >= slots:
                return LONGEST_NAP  # A slot that becomes free rings.
            if run_id not in self._tasks and (row := await self._views.run(run_id)) and self._may_write(row):
                self._start(run_id, row, advance)
        wake_at = await self._views.next_wake(now)
        return LONGEST_NAP if wake_at is None else min(max(wake_at - now, SHORTEST_NAP), LONGEST_NAP)

    def _may_write(self, row: RunRow) -> bool:
        """Say whether no other run that writes has the workspace: in place, one at a time."""
        return not _writes(row) or self._writers.get(row.workspace, row.run_id) == row.run_id

    def _start(self, run_id: RunId, row: RunRow, advance: Advance) -> None:
        if _writes(row):
            self._writers[row.workspace] = run_id
        task = asyncio.create_task(self._advance(run_id, advance), name=f"advance {run_id}")
        self._tasks[run_id] = task
        task.add_done_callback(lambda _: self._ended(run_id, row.workspace))

    async def _advance(self, run_id: RunId, advance: Advance) -> Advanced:
        advanced = await advance(run_id)
        if advanced is Advanced.BUSY:
            await asyncio.sleep(AGAIN.total_seconds())
        return advanced

    def _ended(self, run_id: RunId, workspace: str) -> None:
        self._tasks.pop(run_id, None)
        if self._writers.get(workspace) == run_id:
            del self._writers[workspace]
        self._bells.work()


def _writes(row: RunRow) -> bool:
    return row.level not in {"read-only", "ask"} and row.mode in {"agent", "goal"}
