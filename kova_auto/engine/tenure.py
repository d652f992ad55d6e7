"""Hold a run's lease: extend it for as long as that goes, and give it back."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta

from kova_auto.core.errors import JournalError
from kova_auto.core.state import RunState
from kova_auto.engine.dispatch import Advanced
from kova_auto.engine.world import World

LOG = logging.getLogger(__name__)


class Tenure:
    """Have a run from the moment it was acquired until its lease is lost or given back.

    Attributes:
        epoch: Under which this worker writes.
        seen: Position of the last fact that this worker knows.
        over: Ends when the lease is lost, with what that means.
    """

    def __init__(self, state: RunState, world: World, bell: asyncio.Event, lease: timedelta) -> None:
        """Begin, in the event loop that drives the run.

        Args:
            state: As it was acquired.
            world: Of this worker.
            bell: Rung where somebody else has written.
            lease: How long it lasts without being extended.
        """
        self.epoch, self.seen = state.epoch, state.seq
        self._run_id, self._world, self._bell, self._lease = state.run_id, world, bell, lease
        self.over = asyncio.create_task(self._keep())

    @property
    def moment_s(self) -> float:
        """Return how long to wait for a journal that does not answer, before it is asked again."""
        return self._lease.total_seconds() / 30

    async def _keep(self) -> Advanced:
        clock = self._world.clock
        renewed_at = clock.now()
        while True:
            await asyncio.sleep(self._lease.total_seconds() / 3)
            now = clock.now()
            try:
                renewed = await self._world.journal.renew(self._run_id, epoch=self.epoch, now=now, lease=self._lease)
            except JournalError as exc:
                LOG.warning("run %s: its lease could not be extended: %s", self._run_id, exc)
                if now - renewed_at >= self._lease:
                    return Advanced.BUSY
                continue
            if not renewed.held:
                return Advanced.SUPERSEDED
            renewed_at = now
            if renewed.seq > self.seen:
                self._bell.set()

    async def give_back(self, *, ended: bool) -> None:
        """End it; where the lease cannot be given back, it runs out by itself. With the run it has `ended` already."""
        is_ours = self.over.cancel()
        await asyncio.gather(self.over, return_exceptions=True)
        if ended or not is_ours:
            return
        try:
            await self._world.journal.release(self._run_id, epoch=self.epoch)
        except JournalError as exc:
            LOG.warning("run %s: its lease could not be given back: %s", self._run_id, exc)
