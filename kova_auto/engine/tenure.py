"""Hold a run's lease: extend it for as long as that goes, and give it back."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta

from kova_auto.core.errors import JournalError
from kova_auto.core.state import RunState
from kova_auto.engine.bells import Bell
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

    __slots__ = ("_bell", "_lease", "_renewed_at", "_renewing", "_run_id", "_timer", "_world", "epoch", "over", "seen")

    def __init__(self, state: RunState, world: World, bell: Bell, lease: timedelta) -> None:
        """Prepare, in the event loop that drives the run.

        Args:
            state: As it was acquired, or is expected to be.
            world: Of this worker.
            bell: Rung where somebody else has written, and woken where the lease is lost.
            lease: How long it lasts without being extended.
        """
        self.epoch, self.seen = state.epoch, state.seq
        self._run_id, self._world, self._bell, self._lease = state.run_id, world, bell, lease
        self._renewed_at = world.clock.now()
        self.over: asyncio.Future[Advanced] = asyncio.get_running_loop().create_future()
        self.over.add_done_callback(bell.wake)
        self._renewing: asyncio.Task[Advanced | None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Have the lease from now on."""
        self._renewed_at = self._world.clock.now()
        self._timer = self._soon()

    @property
    def moment_s(self) -> float:
        """Return how long to wait for a journal that does not answer, before it is asked again."""
        return self._lease.total_seconds() / 30

    def _soon(self) -> asyncio.TimerHandle:
        """Have the lease extended when a third of it is over; until then there is no task for it."""
        return asyncio.get_running_loop().call_later(self._lease.total_seconds() / 3, self._begin)

    def _begin(self) -> None:
        self._renewing = asyncio.create_task(self._renew())
        self._renewing.add_done_callback(self._renewed)

    def _renewed(self, task: asyncio.Task[Advanced | None]) -> None:
        if task.cancelled() or self.over.done():
            return
        if exc := task.exception():
            self.over.set_exception(exc)
        elif lost := task.result():
            self.over.set_result(lost)
        else:
            self._timer = self._soon()

    async def _renew(self) -> Advanced | None:
        """Extend the lease; return what it means that it is lost."""
        now = self._world.clock.now()
        try:
            renewed = await self._world.journal.renew(self._run_id, epoch=self.epoch, now=now, lease=self._lease)
        except JournalError as exc:
            LOG.warning("run %s: its lease could not be extended: %s", self._run_id, exc)
            return Advanced.BUSY if now - self._renewed_at >= self._lease else None
        if not renewed.held:
            return Advanced.SUPERSEDED
        self._renewed_at = now
        if renewed.seq > self.seen:
            self._bell.set()
        return None

    async def give_back(self, *, ended: bool) -> None:
        """End it; where the lease cannot be given back, it runs out by itself. With the run it has `ended` already."""
        is_ours = self.over.cancel()
        if self._timer:
            self._timer.cancel()
        if self._renewing:
            self._renewing.cancel()
            await asyncio.gather(self.over, self._renewing, return_exceptions=True)
        if ended or not is_ours:
            return
        try:
            await self._world.journal.release(self._run_id, epoch=self.epoch)
        except JournalError as exc:
            LOG.warning("run %s: its lease could not be given back: %s", self._run_id, exc)
