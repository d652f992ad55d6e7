"""Open the runs of instants that are to be filled in, as their jobs' other runs come to an end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from itertools import groupby
from logging import getLogger
from typing import Final

from kova_auto.core.backfill import Backfill, Backfills, BackfillStatus, next_up
from kova_auto.core.errors import KovaError
from kova_auto.core.event import RunRequested
from kova_auto.core.ids import JobName
from kova_auto.core.ports import Journal, Views

LOG = getLogger(__name__)

Opening = Callable[[Backfill], Awaitable[RunRequested]]
SOON_S: Final = 2.0
LATER_S: Final = 30.0
"""What waits for nothing but a model, or for the next day's money, is tried again after so long."""
_MANY: Final = 1000


class Filler:
    """Work off what is to be filled in."""

    def __init__(
        self, backfills: Backfills, journal: Journal, views: Views, opening: Opening, ring: Callable[[], None]
    ) -> None:
        """Take what it needs.

        Args:
            backfills: What is to be filled in.
            journal: Takes the runs.
            views: Say which runs of a job have not finished.
            opening: Returns the event that opens an item's run.
            ring: Wakes the engine, once a run was opened.
        """
        self._backfills, self._journal, self._views = backfills, journal, views
        self._opening, self._ring = opening, ring

    async def serve(self, bell: asyncio.Event, stop: asyncio.Event) -> None:
        """Look whenever the bell rings, and from time to time, until `stop` is set and the bell rung."""
        while not stop.is_set():
            pause_s = await self.look()
            try:
                async with asyncio.timeout(pause_s):
                    await bell.wait()
            except TimeoutError:
                continue
            bell.clear()

    async def look(self) -> float:
        """Open the runs whose turn it is; return after how many seconds to look again."""
        try:
            waiting = sorted(await self._backfills.waiting(), key=_job)  # Keeps the order within a job.
            pauses = [await self._fill(name, list(items)) for name, items in groupby(waiting, _job)]
        except KovaError as exc:
            LOG.warning("what is to be filled in waits: %s", exc)
            return LATER_S
        return min(pauses, default=LATER_S)

    async def _fill(self, job: JobName, items: Sequence[Backfill]) -> float:
        running = len(await self._views.runs(job=job, unfinished=True, limit=_MANY))
        left = list(items)
        while left:
            item, skipped = next_up(left, running)
            for one in skipped:
                await self._backfills.settle(one)
                LOG.info("%s is not filled in for %s: %s", job, one.nominal_at.isoformat(), one.why)
            if item is None:
                return SOON_S
            if not await self._open(item):
                return LATER_S
            running += 1
            left = left[left.index(item) + 1 :]
        return LATER_S

    async def _open(self, item: Backfill) -> bool:
        """Open an item's run; return False where that cannot be done now."""
        try:
            request = await self._opening(item)
        except KovaError as exc:
            if str(exc) != item.why:
                LOG.warning("%s is not filled in for %s yet: %s", item.job, item.nominal_at.isoformat(), exc)
                await self._backfills.settle(item.model_copy(update={"why": str(exc)}))
            return False
        await self._journal.open(request)  # The same id twice is one run: whoever was cut off here does no harm.
        opened = {"status": BackfillStatus.OPENED, "why": "", "run_id": request.run_id}
        await self._backfills.settle(item.model_copy(update=opened))
        LOG.info("%s is filled in for %s: run %s", item.job, item.nominal_at.isoformat(), request.run_id)
        self._ring()
        return True


def _job(item: Backfill) -> JobName:
    return item.job
