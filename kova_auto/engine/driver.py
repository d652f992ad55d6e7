"""Drive one run: choose the next step, do it, write down what happened, until it rests.

The driver holds the run's lease while it works. It stops at once where the lease is lost, and lets a step end where
the service is asked to stop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import aclosing
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from kova_auto.core import limits
from kova_auto.core.errors import FencedError
from kova_auto.core.ids import RunId
from kova_auto.core.ports import Unavailable
from kova_auto.core.step import (
    Acting,
    AssembleContext,
    AwaitApproval,
    AwaitUntil,
    Finish,
    Recover,
    Rest,
    Resting,
    Step,
    next_step,
    settles,
)
from kova_auto.engine.bells import Bells, Ear
from kova_auto.engine.dispatch import Advanced
from kova_auto.engine.pen import OvertakenError, Pen
from kova_auto.engine.perform import perform
from kova_auto.engine.tenure import Tenure
from kova_auto.engine.world import World

LEASE = timedelta(seconds=30)
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
    now = world.clock.now()
    acquired = await world.journal.acquire(run_id, worker=world.worker, now=now, lease=lease, known=state)
    if isinstance(acquired, Unavailable):
        return Advanced.DONE if acquired is Unavailable.FINISHED else Advanced.BUSY
    with bells.hung(Ear.DRIVE, run_id) as bell:
        tenure = Tenure(acquired, world, bell, lease)
        pen = Pen(acquired, world, bells, tenure, stopping.now)
        try:
            return await _Drive(world, pen, tenure, bell, stopping).run()
        except FencedError:
            return Advanced.SUPERSEDED


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


_UNANNOUNCED = (AssembleContext, Recover, Finish)
"""Steps that touch the world before their first fact."""


class _Drive:
    """Hold what one stretch of driving needs, from taking the lease to giving it back."""

    def __init__(self, world: World, pen: Pen, tenure: Tenure, bell: asyncio.Event, stopping: Stopping) -> None:
        self._world, self._pen, self._tenure, self._bell, self._stopping = world, pen, tenure, bell, stopping
        self._ending = asyncio.ensure_future(stopping.now.wait())
        self._ringing = asyncio.ensure_future(bell.wait())
        self._nudged: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        for reason in (tenure.over, self._ending, self._ringing):
            reason.add_done_callback(self._nudge)

    async def run(self) -> Advanced:
        try:
            advanced = await self._steps()
            if not self._tenure.over.done():
                await self._pen.flush()
        finally:
            self._ending.cancel()
            self._ringing.cancel()
            await self._tenure.give_back(ended=self._pen.state.finished is not None)
        return advanced

    async def _steps(self) -> Advanced:
        step: Step
        while not isinstance(step := next_step(self._pen.state, self._world.clock.now()), Resting):
            if self._stopping.gently.is_set():
                return Advanced.YIELDED
            try:
                await self._step(step)
            except OvertakenError:
                continue
            except _CutOffError:
                if self._tenure.over.done():
                    return self._tenure.over.result()
                if self._stopping.now.is_set():
                    return Advanced.YIELDED
            await self._listen()
        return _rested(step)

    async def _step(self, step: Acting) -> None:
        """Do one step; where it is cut off, its generator is closed and its effects are left in doubt."""
        if isinstance(step, _UNANNOUNCED):
            await self._pen.flush()
        async with aclosing(perform(step, self._pen.state, self._world)) as entries:
            goes_on = True
            while goes_on:
                entry = await self._unless_ended(anext(entries), step)
                await self._pen.write(entry)
                goes_on = entry.announces

    async def _unless_ended(self, work: Awaitable[_T], step: Acting) -> _T:
        """Await one stretch of a step's work; where something ends it before, what was done at that moment counts."""
        task = asyncio.ensure_future(work)
        try:
            while not task.done():  # The step was chosen this moment: there is no reason yet to end it.
                await self._woken(task, step)
                if task.done() or await self._ends(step):
                    break
        finally:
            await _cut_off(task)
        if task.cancelled():
            raise _CutOffError
        return task.result()

    async def _ends(self, step: Acting) -> bool:
        """Say whether a step is to end now, whatever it is at."""
        if self._tenure.over.done() or self._stopping.now.is_set():
            return True
        if settles(step):
            return False
        await self._pen.heed_clock()
        await self._listen()
        return self._pen.state.stop is not None or limits.always(self._pen.state, self._world.clock.now()) is not None

    async def _listen(self) -> None:
        """Take in what somebody else has written, where the bell says that there is something."""
        if self._bell.is_set():
            self._bell.clear()
            await self._pen.fold_in()

    async def _woken(self, task: asyncio.Future[_T], step: Acting) -> None:
        """Wait until the task is done, or until there is a reason to look whether the step is to end."""
        if self._tenure.over.done() or self._ending.done():
            return
        loop = asyncio.get_running_loop()
        self._nudged, limit = loop.create_future(), None
        task.add_done_callback(self._nudge)
        if not settles(step):
            if self._ringing.done():
                self._ringing = asyncio.ensure_future(self._bell.wait())
                self._ringing.add_done_callback(self._nudge)
            left_s = limits.left_s(self._pen.state, self._world.clock.now())
            limit = loop.call_later(left_s, self._nudge, None)
        try:
            await self._nudged
        finally:
            if limit:
                limit.cancel()

    def _nudge(self, _reason: object) -> None:
        if not self._nudged.done():
            self._nudged.set_result(None)
