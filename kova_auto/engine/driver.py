"""Drive one run: choose the next step, do it, write down what happened, until it rests.

The driver holds the run's lease while it works. It stops at once where the lease is lost, and lets a step end where
the service is asked to stop.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from contextlib import aclosing
from dataclasses import dataclass
from datetime import timedelta
from functools import reduce
from typing import Any, TypeVar

from kova_auto.core import limits
from kova_auto.core.errors import FencedError, IllegalEventError, JournalBusyError, JournalError
from kova_auto.core.event import ClockMoved, Event
from kova_auto.core.ids import RunId
from kova_auto.core.ports import Unavailable
from kova_auto.core.run import RunState, apply
from kova_auto.core.step import Acting, AwaitApproval, AwaitUntil, Rest, Resting, Step, next_step, settles
from kova_auto.engine.bells import Bells, Ear
from kova_auto.engine.dispatch import Advanced
from kova_auto.engine.perform import Entry, perform
from kova_auto.engine.world import World

LOG = logging.getLogger(__name__)
LEASE = timedelta(seconds=30)
UNSTEADY_S = 10.0
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Stopping:
    """Hold the two ways a service ends: `gently` lets steps end, `now` cuts them off."""

    gently: asyncio.Event
    now: asyncio.Event


class _CutOffError(Exception):
    """Say that the step under way was cut off: by a person, by its limit, or because the service ends."""


async def advance(
    run_id: RunId, world: World, bells: Bells, stopping: Stopping, *, lease: timedelta = LEASE
) -> Advanced:
    """Bring a run as far as it goes now; may be called at any time, any number of times.

    Raises:
        KovaError: The journal could not be read or written; `engine/service.py` turns it into "again later".
    """
    state = await world.journal.load(run_id)
    if isinstance(step := next_step(state, world.clock.now()), Resting):
        return _rested(step)
    world.learn(state)
    acquired = await world.journal.acquire(run_id, worker=world.worker, now=world.clock.now(), lease=lease)
    if isinstance(acquired, Unavailable):
        return Advanced.DONE if acquired is Unavailable.FINISHED else Advanced.BUSY
    with bells.hung(Ear.DRIVE, run_id) as bell:
        drive = _Drive(acquired, world, bells, bell, stopping, lease)
        try:
            return await drive.run()
        except FencedError:
            return Advanced.SUPERSEDED
        finally:
            bells.work()


def _rested(step: Resting) -> Advanced:
    match step:
        case Rest():
            return Advanced.DONE
        case AwaitApproval() | AwaitUntil():
            return Advanced.SUSPENDED


async def _cut_off(task: asyncio.Future[_T]) -> None:
    """Cancel a task that is not done, and wait for its end, also where this is cancelled meanwhile.

    A generator that is at work cannot be closed, and what tidies up after a tool is not to be disturbed.
    """
    task.cancel()
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as exc:
            cancelled = exc
    if cancelled:
        raise cancelled


class _Drive:
    """Hold what one stretch of driving needs, from taking the lease to giving it back."""

    def __init__(
        self,
        state: RunState,
        world: World,
        bells: Bells,
        bell: asyncio.Event,
        stopping: Stopping,
        lease: timedelta,
    ) -> None:
        self._state, self._world, self._bells, self._bell = state, world, bells, bell
        self._stopping, self._lease = stopping, lease
        self._epoch = state.epoch
        self._mark()
        self._keeper = asyncio.create_task(self._keep_lease())

    async def run(self) -> Advanced:
        try:
            return await self._steps()
        finally:
            is_ours = self._keeper.cancel()
            await asyncio.gather(self._keeper, return_exceptions=True)
            if is_ours:
                await self._release()

    async def _steps(self) -> Advanced:
        step: Step
        while not isinstance(step := next_step(self._state, self._world.clock.now()), Resting):
            if self._stopping.gently.is_set():
                return Advanced.YIELDED
            try:
                await self._step(step)
            except _CutOffError:
                if self._keeper.done():
                    return self._keeper.result()
                if self._stopping.now.is_set():
                    return Advanced.YIELDED
        return _rested(step)

    async def _step(self, step: Acting) -> None:
        """Do one step; where it is cut off, its generator is closed and its effects are left in doubt."""
        async with aclosing(perform(step, self._state, self._world)) as entries:
            while (entry := await self._unless_ended(anext(entries, None), step)) is not None:
                await self._write(entry)
        await self._fold_in()

    async def _unless_ended(self, work: Awaitable[_T], step: Acting) -> _T:
        """Await one stretch of a step's work; where something ends it before, what was done at that moment counts."""
        task = asyncio.ensure_future(work)
        try:
            while not task.done() and not await self._ends(step):
                await self._woken(task, step)
        finally:
            await _cut_off(task)
        if task.cancelled():
            raise _CutOffError
        return task.result()

    async def _ends(self, step: Acting) -> bool:
        """Say whether a step is to end now, whatever it is at."""
        if self._keeper.done() or self._stopping.now.is_set():
            return True
        if settles(step):
            return False
        await self._heed_clock()
        if self._bell.is_set():
            self._bell.clear()
            await self._fold_in()
        return self._state.stop is not None or limits.always(self._state, self._world.clock.now()) is not None

    async def _woken(self, task: asyncio.Future[_T], step: Acting) -> None:
        """Wait until the task is done, or until there is a reason to look whether the step is to end."""
        events = [self._stopping.now] + ([] if settles(step) else [self._bell])
        left_s = None if settles(step) else limits.left_s(self._state, self._world.clock.now())
        waits = [asyncio.ensure_future(event.wait()) for event in events]
        either: set[asyncio.Future[Any]] = {task, self._keeper, *waits}
        try:
            await asyncio.wait(either, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    async def _write(self, entry: Entry) -> None:
        """Write one fact; while the journal does not answer, try again for as long as the run is ours."""
        await self._heed_clock()
        while not await self._is_written(entry):
            continue
        self._mark()
        self._bells.told(self._state.run_id)

    def _mark(self) -> None:
        """Remember when this worker's last fact was written, by both clocks."""
        self._wrote_at, self._wrote_s = self._world.clock.now(), self._world.clock.steady_s()

    async def _heed_clock(self) -> None:
        """Write down that the clock was set or the machine slept, where that is so: it was not running time."""
        now, ran_s = self._world.clock.now(), self._world.clock.steady_s() - self._wrote_s
        if abs((now - self._wrote_at).total_seconds() - ran_s) > UNSTEADY_S:
            LOG.info("run %s: the clock was moved, or the machine slept", self._state.run_id)
            while not await self._is_written(Entry(ClockMoved(at=now, ran_s=ran_s))):
                continue
            self._mark()

    async def _is_written(self, entry: Entry) -> bool:
        """Try to write a fact; say whether it is in the journal now.

        Raises:
            _CutOffError: Somebody else's fact came first, and this one cannot follow it: the step is chosen anew.
        """
        journal = self._world.journal
        try:
            self._state = await journal.append(self._state, entry.event, epoch=self._epoch, blobs=entry.blobs)
        except JournalBusyError as exc:
            await self._wait_for_journal(exc)
            return entry.event in await self._fold_in()  # It may have been written, and only the answer was lost.
        except IllegalEventError as exc:
            since = await self._fold_in()
            if not since:
                raise
            if entry.event not in since:
                raise _CutOffError from exc
        return True

    async def _fold_in(self) -> list[Event]:
        """Take in what has been written since, and return it."""
        while True:
            try:
                placed = await self._world.journal.events(self._state.run_id, after=self._state.seq)
            except JournalBusyError as exc:
                await self._wait_for_journal(exc)
                continue
            since = [event for _, event in placed]
            self._state = reduce(apply, since, self._state)
            return since

    async def _wait_for_journal(self, exc: JournalBusyError) -> None:
        """Wait a moment; raise the error where the run is not ours any more, or the service ends now."""
        LOG.warning("run %s waits: %s", self._state.run_id, exc)
        ending = asyncio.ensure_future(self._stopping.now.wait())
        either: set[asyncio.Future[Any]] = {ending, self._keeper}
        done, _ = await asyncio.wait(
            either, timeout=self._lease.total_seconds() / 30, return_when=asyncio.FIRST_COMPLETED
        )
        ending.cancel()
        if done:
            raise exc

    async def _keep_lease(self) -> Advanced:
        """Extend the lease until it is lost, and return what that means; wake the drive where somebody else wrote."""
        run_id, clock = self._state.run_id, self._world.clock
        renewed_at = clock.now()
        while True:
            await asyncio.sleep(self._lease.total_seconds() / 3)
            now = clock.now()
            try:
                renewed = await self._world.journal.renew(run_id, epoch=self._epoch, now=now, lease=self._lease)
            except JournalError as exc:
                LOG.warning("run %s: its lease could not be extended: %s", run_id, exc)
                if now - renewed_at >= self._lease:
                    return Advanced.BUSY
                continue
            if not renewed.held:
                return Advanced.SUPERSEDED
            renewed_at = now
            if renewed.seq > self._state.seq:
                self._bell.set()

    async def _release(self) -> None:
        try:
            await self._world.journal.release(self._state.run_id, epoch=self._epoch)
        except JournalError as exc:  # Then it runs out by itself.
            LOG.warning("run %s: its lease could not be given back: %s", self._state.run_id, exc)
