"""Drive one run: choose the next step, do it, write down what happened, until it rests.

The driver holds the run's lease while it works. It stops at once where the lease is lost, and lets a step end where
the service is asked to stop.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from kova_auto.core import limits
from kova_auto.core.errors import FencedError
from kova_auto.core.ids import RunId
from kova_auto.core.run import RunState
from kova_auto.core.step import next_step
from kova_auto.core.steps import (
    Acting,
    AnswerForNobody,
    AssembleContext,
    AwaitApproval,
    AwaitChildren,
    AwaitUntil,
    AwaitWorkspace,
    BeginAgain,
    CallModel,
    Compact,
    Execute,
    ExecuteTogether,
    Finish,
    Recover,
    Refuse,
    Rest,
    Resting,
    Step,
    settles,
)
from kova_auto.engine.bells import Alarm, Bell, Bells, Ear
from kova_auto.engine.dispatch import Advanced
from kova_auto.engine.ending import ended
from kova_auto.engine.entry import Entries, Entry
from kova_auto.engine.pen import OvertakenError, Pen
from kova_auto.engine.perform import perform
from kova_auto.engine.taking import NotTakenError, Taking
from kova_auto.engine.tenure import Tenure
from kova_auto.engine.world import World

LEASE = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class Stopping:
    """Hold the two ways a service ends: `gently` lets steps end, `now` cuts them off."""

    gently: asyncio.Event
    now: Alarm


class _CutOffError(Exception):
    """Say that the step under way was cut off: by a person, by its limit, or because the service ends."""


async def advance(
    run_id: RunId, world: World, bells: Bells, stopping: Stopping, *, lease: timedelta = LEASE
) -> Advanced:
    """Bring a run as far as it goes now; may be called at any time, any number of times.

    Raises:
        KovaError: The journal could not be read or written; `engine/service.py` turns it into "again later".
    """
    bell = Bell()
    try:
        drive = await _begun(run_id, world, bells, bell, stopping, lease)
        if isinstance(drive, Advanced):
            return drive
        bells.hang(bell, Ear.DRIVE, run_id)
        stopping.now.bells.add(bell)
        return await drive.run()
    except NotTakenError as exc:
        bells.told(run_id)  # That it waits, where it does, is a fact like any other.
        return exc.advanced
    except FencedError:
        return Advanced.SUPERSEDED
    finally:
        stopping.now.bells.discard(bell)
        bells.take_down(bell, Ear.DRIVE, run_id)


async def _begun(
    run_id: RunId, world: World, bells: Bells, bell: Bell, stopping: Stopping, lease: timedelta
) -> _Drive | Advanced:
    """Return what drives a run that can go on; where it cannot, say how far it came.

    Raises:
        NotTakenError: It cannot be had.
    """
    state = await world.journal.load(run_id)
    now = world.clock.now()
    step = next_step(state, now)
    if isinstance(step, Resting) and not isinstance(step, AwaitWorkspace):  # Only the journal knows who has that.
        bells.told(run_id)
        return _rested(step)
    world.learn(state)
    taking = Taking(state, world, now, lease)
    waits = taking.may_wait(step)
    state = taking.expected if waits else await taking.take()
    tenure = Tenure(state, world, bell, lease)
    if not waits:
        tenure.begin()
    pen = Pen(state, world, bells, tenure, stopping.now, taking if waits else None)
    return _Drive(world, pen, tenure, bell, stopping)


def _rested(step: Resting) -> Advanced:
    match step:
        case Rest():
            return Advanced.DONE
        case AwaitApproval() | AwaitUntil() | AwaitWorkspace() | AwaitChildren():
            return Advanced.SUSPENDED


_AT_ONCE = (CallModel, Compact, Execute, ExecuteTogether, AnswerForNobody, Refuse)
"""Steps whose first fact takes at most a look into the journal, as writing it does: nothing else is waited for."""


def _acts_unannounced(step: Acting, state: RunState) -> bool:
    """Say whether a step may change something before its first fact is written."""
    if isinstance(step, AssembleContext | Finish | BeginAgain):
        is_apart = state.request.workspace != state.job.workspace
        is_checked = bool(state.job.output.checks)  # What a check left running is ended, and no fact tells of it.
        return is_apart or is_checked or any(call.process for call in state.calls.values())
    return isinstance(step, Recover)


class _Drive:
    """Hold what one stretch of driving needs, from taking the lease to giving it back.

    Two tasks share it: the hand does step after step, and its watcher, who was asked for the drive, cuts off what the
    hand is at where there is a reason. They never use the pen together: the watcher looks for a reason only while the
    hand is at work, and the hand goes on only when the watcher has looked.
    """

    __slots__ = (
        "_bell",
        "_cut",
        "_hand",
        "_limit",
        "_looking",
        "_moment",
        "_pen",
        "_stepping",
        "_stopping",
        "_tenure",
        "_world",
    )

    def __init__(self, world: World, pen: Pen, tenure: Tenure, bell: Bell, stopping: Stopping) -> None:
        self._world, self._pen, self._tenure, self._bell, self._stopping = world, pen, tenure, bell, stopping
        self._limit: asyncio.TimerHandle | None = None
        self._moment: asyncio.TimerHandle | None = None
        self._hand: asyncio.Task[Advanced]
        self._stepping: Acting | None = None  # that the hand is at and that may be cut off
        self._looking: asyncio.Future[None] | None = None
        self._cut: Exception | None = None  # why what the hand is at does not count; looked at again if that came first

    async def run(self) -> Advanced:
        hand = self._hand = asyncio.get_running_loop().create_task(self._work())
        try:
            while not hand.done():
                if not (self._stepping and self._is_rung(self._stepping)):
                    await self._bell.waiter()
                if self._stepping:
                    await self._look(self._stepping)
        finally:
            await ended((hand,))
        return hand.result()

    async def _work(self) -> Advanced:
        try:
            return await self._steps()
        finally:
            try:  # Whatever ends this: what was done is not lost.
                if not self._tenure.over.done():
                    with suppress(OvertakenError):
                        await self._pen.flush()
            finally:
                for timer in filter(None, (self._limit, self._moment)):
                    timer.cancel()
                await self._tenure.give_back(ended=not self._pen.is_ours or self._pen.state.finished is not None)
                self._bell.wake()  # The watcher: sooner than what is called when a task is done.

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
        if _acts_unannounced(step, self._pen.state):
            await self._pen.flush()
        entries = perform(step, self._pen.state, self._world)
        try:
            goes_on, at_once = True, isinstance(step, _AT_ONCE)
            while goes_on:
                if at_once and self._is_over():
                    raise _CutOffError
                entry = await (anext(entries) if at_once else self._unless_ended(entries, step))
                await self._pen.write(entry)
                for other in entry.also:
                    await self._pen.write(other)
                goes_on, at_once = entry.announces, False
        finally:
            await entries.aclose()

    async def _unless_ended(self, entries: Entries, step: Acting) -> Entry:
        """Await one stretch of a step's work; where something ends it before, what was done at that moment counts."""
        if (self._cut or self._is_rung(step)) and await self._ends(step):
            raise _CutOffError
        self._mind(step)
        hand, self._cut, self._stepping = self._hand, None, step
        asked_to_end = hand.cancelling()
        try:
            entry = await anext(entries)
        except asyncio.CancelledError:
            if self._cut is None or hand.cancelling() > asked_to_end + 1:
                raise  # Somebody wants the whole drive to end.
            raise self._cut from None
        finally:
            self._stepping = None
            if self._looking:
                await self._looking
            if self._cut and hand.cancelling() > asked_to_end:
                hand.uncancel()
        if isinstance(self._cut, OvertakenError):
            raise self._cut
        return entry

    async def _look(self, step: Acting) -> None:
        """Look whether the step that the hand is at is to end, and cut it off then."""
        looking = self._looking = asyncio.get_running_loop().create_future()
        try:
            self._cut = _CutOffError() if await self._ends(step) else None
        except OvertakenError as exc:
            self._cut = exc
        finally:
            self._looking = None
            looking.set_result(None)
        if self._stepping is not step:
            return  # It came to its end meanwhile.
        if self._cut:
            self._stepping = None  # Once is enough.
            self._hand.cancel()
        else:
            self._mind(step)

    async def _ends(self, step: Acting) -> bool:
        """Say whether a step is to end now, whatever it is at."""
        if self._is_over():
            return True
        await self._pen.flush()
        if settles(step):
            return False
        await self._pen.heed_clock()
        await self._listen()
        return self._pen.state.stop is not None or limits.always(self._pen.state, self._world.clock.now()) is not None

    async def _listen(self) -> None:
        """Take in what somebody else has written, where the bell says that there is something."""
        if self._bell.rung:
            self._bell.rung = False
            await self._pen.fold_in()

    def _is_rung(self, step: Acting) -> bool:
        """Say whether there is a reason to look whether a step is to end; the bell wakes when there is another."""
        return self._is_over() or (self._bell.rung and not settles(step))

    def _mind(self, step: Acting) -> None:
        """Have the watcher woken when the run's time is over, and when what waits to be written has waited enough."""
        if not settles(step):
            self._mind_limit()
        if self._pen.holds and self._moment is None:
            self._moment = asyncio.get_running_loop().call_later(self._world.moment_s, self._moment_is_over)

    def _moment_is_over(self) -> None:
        """Have what waits written, if the step goes on; what waits since later is written a little early."""
        self._moment = None
        self._bell.wake()

    def _mind_limit(self) -> None:
        """Be woken when the run's time is over; while it runs on, that is at the same instant, and never sooner."""
        if self._limit is None:
            left_s = limits.left_s(self._pen.state, self._world.clock.now())
            self._limit = asyncio.get_running_loop().call_later(left_s, self._limit_is_due)

    def _limit_is_due(self) -> None:
        self._limit = None
        self._bell.wake()

    def _is_over(self) -> bool:
        return self._tenure.over.done() or self._stopping.now.is_set()
