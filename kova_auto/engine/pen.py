"""Write down what one worker does to its run, past a journal that does not answer and clocks that jump."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from datetime import datetime
from functools import reduce
from typing import Any

from kova_auto.core.errors import IllegalEventError, JournalBusyError
from kova_auto.core.event import ClockMoved, Event
from kova_auto.core.run import apply
from kova_auto.core.state import RunState
from kova_auto.engine.bells import Bells
from kova_auto.engine.entry import Entry
from kova_auto.engine.taking import Taking
from kova_auto.engine.tenure import Tenure
from kova_auto.engine.world import World

LOG = logging.getLogger(__name__)
UNSTEADY_S = 10.0


class OvertakenError(Exception):
    """Say that somebody else's fact came first, and this worker's cannot follow it: the step is to be chosen anew."""


class Pen:
    """Know a run's state, and write its worker's facts.

    While the journal does not answer it is asked again, for as long as the run is this worker's and the service goes
    on; then JournalBusyError is raised.

    What may wait is written together with the next fact that may not; nobody else sees it before. Whoever has the pen
    flushes it when that takes longer than a moment.

    Attributes:
        state: With everything that this worker has written, is about to write, or has taken in.
        is_ours: The run has been taken.
    """

    def __init__(
        self,
        state: RunState,
        world: World,
        bells: Bells,
        tenure: Tenure,
        ending: asyncio.Event,
        taking: Taking | None = None,
    ) -> None:
        """Begin.

        Args:
            state: As it was acquired, or is expected to be.
            world: Of this worker.
            bells: Told of what is written.
            tenure: The lease.
            ending: Set when the service ends at once.
            taking: How the run is taken with its first facts; None where it is taken already.
        """
        self.state = self._written = state
        self.is_ours, self._taking = taking is None, taking
        self._held: list[Entry] = []
        self._world, self._bells, self._tenure, self._ending = world, bells, tenure, ending
        self._mark()

    async def write(self, entry: Entry) -> None:
        """Write one fact, at once or with the next.

        Raises:
            OvertakenError: It cannot follow what somebody else has written.
        """
        now, steady_s = self._world.clock.now(), self._world.clock.steady_s()
        if self._was_moved(now, steady_s):
            await self.heed_clock()
        self._held.append(entry)
        self._wrote_at, self._wrote_s = now, steady_s
        if not (entry.waits and self._follows(entry)):
            await self.flush()

    def _hold(self, entry: Entry) -> None:
        """Have an entry written next, and remember when this worker's last fact was, by both clocks."""
        self._held.append(entry)
        self._mark()

    async def flush(self) -> None:
        """Write what waits, and take the run where that waits too; does nothing where nothing does.

        Raises:
            OvertakenError: It cannot follow what somebody else has written.
            NotTakenError: The run cannot be had.
        """
        held, self._held = self._held, []
        taking, self._taking = self._taking, None
        if taking:
            has_blobs = any(entry.blobs for entry in held)
            await self._take(taking, () if has_blobs else held)
            held = held if has_blobs else []
        if held:
            await self._insist(held)
            self._bells.told(self.state.run_id)
            if self.state.finished and (by := self.state.request.child_of):
                self._bells.asked(by.run_id)  # It was told in the same moment.

    async def _take(self, taking: Taking, entries: Sequence[Entry]) -> None:
        """Take the run with its first facts; where somebody else was there meanwhile, these are found out anew."""
        before, first = self._written.seq, [entry.event for entry in entries]
        taken = await taking.take(first, self.state if first else None)  # What waited is folded already.
        self.is_ours = True
        self._tenure.begin()
        self._know(taken)
        self._bells.told(taken.run_id)
        if taken.seq != before + len(first):
            raise OvertakenError

    @property
    def holds(self) -> bool:
        """Say whether something waits."""
        return bool(self._held or self._taking)

    def _follows(self, entry: Entry) -> bool:
        try:
            self.state = apply(self.state, entry.event)
        except IllegalEventError:  # The journal knows better whether that is so.
            return False
        return True

    async def heed_clock(self) -> None:
        """Write down that the clock was set or the machine slept, where that is so: it was not running time."""
        now, steady_s = self._world.clock.now(), self._world.clock.steady_s()
        if self._was_moved(now, steady_s):
            LOG.info("run %s: the clock was moved, or the machine slept", self.state.run_id)
            self._hold(Entry(ClockMoved(at=now, ran_s=steady_s - self._wrote_s)))
            await self.flush()

    def _was_moved(self, now: datetime, steady_s: float) -> bool:
        ran_s = steady_s - self._wrote_s
        return abs((now - self._wrote_at).total_seconds() - ran_s) > UNSTEADY_S

    async def fold_in(self) -> list[Event]:
        """Take in what others have written since, and return it."""
        await self.flush()
        return await self._taken_in()

    async def _taken_in(self) -> list[Event]:
        while True:
            try:
                return await self._since()
            except JournalBusyError as exc:
                await self._wait(exc)

    async def _since(self) -> list[Event]:
        placed = await self._world.journal.events(self._written.run_id, after=self._written.seq)
        since = [event for _, event in placed]
        self._know(reduce(apply, since, self._written))
        return since

    async def _insist(self, entries: Sequence[Entry]) -> None:
        try:
            while not await self._are_written(entries):
                continue
        except OvertakenError:
            if len(entries) == 1:
                raise
            for entry in entries:  # What can follow all the same is not lost.
                await self._insist([entry])

    async def _are_written(self, entries: Sequence[Entry]) -> bool:
        """Try to write facts; say whether they are in the journal now."""
        journal, epoch, last = self._world.journal, self._tenure.epoch, entries[-1].event
        first, blobs = [entry.event for entry in entries[:-1]], [blob for entry in entries for blob in entry.blobs]
        try:
            known, reached = self._written, self.state  # What waited is folded already.
            self._know(await journal.append(known, last, first=first, epoch=epoch, blobs=blobs, reached=reached))
        except JournalBusyError as exc:
            try:
                await self._wait(exc)
            except JournalBusyError:
                if last in await self._since():  # With the run's last fact its lease is over, too.
                    return True
                raise
            return last in await self._taken_in()  # They may have been written, and only the answer was lost.
        except IllegalEventError as exc:
            since = await self._taken_in()
            if not since:
                raise
            if last not in since:
                raise OvertakenError from exc
        return True

    def _know(self, state: RunState) -> None:
        self.state = self._written = state
        self._tenure.seen = state.seq

    def _mark(self) -> None:
        """Remember that this worker has come as far as now."""
        self._wrote_at, self._wrote_s = self._world.clock.now(), self._world.clock.steady_s()

    async def _wait(self, exc: JournalBusyError) -> None:
        """Wait a moment; raise the error where the run is not ours any more, or the service ends now."""
        LOG.warning("run %s waits: %s", self.state.run_id, exc)
        ending = asyncio.ensure_future(self._ending.wait())
        either: set[asyncio.Future[Any]] = {ending, self._tenure.over}
        done, _ = await asyncio.wait(either, timeout=self._tenure.moment_s, return_when=asyncio.FIRST_COMPLETED)
        ending.cancel()
        if done:
            raise exc
