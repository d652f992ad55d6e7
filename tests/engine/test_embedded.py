"""One process, some slots: which runs it advances, and which have to wait for what."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from kova_auto.core.approval.levels import Decision, Ruling
from kova_auto.core.event import (
    ApprovalDecided,
    ApprovalRequested,
    CallAdjudicated,
    ContextAssembled,
    ModelCallStarted,
    RunAcquired,
    RunFinished,
)
from kova_auto.core.ids import CallId, RunId
from kova_auto.core.job import Outcome
from kova_auto.core.run import RunState
from kova_auto.engine.backends.embedded import Embedded
from kova_auto.engine.bells import Bells
from kova_auto.engine.dispatch import Advanced
from tests.doubles.clock import HandClock
from tests.doubles.flaky import FlakyJournal
from tests.support import a_job, a_request, call, replied, ruled, says


@dataclass
class Desk:
    """Advance runs by hand: each stays under way until it is let go."""

    journal: FlakyJournal = field(default_factory=FlakyJournal)
    clock: HandClock = field(default_factory=HandClock)
    bells: Bells = field(default_factory=Bells)
    slots: int = 2
    under_way: list[str] = field(default_factory=list)
    begun: list[str] = field(default_factory=list)
    _ends: dict[str, asyncio.Future[Advanced]] = field(default_factory=dict)
    stop: asyncio.Event = field(default_factory=asyncio.Event)

    async def opened(self, *names: str) -> None:
        for name in names:
            await self.journal.open(a_request(_id(name), job=a_job(name)))

    async def advance(self, run_id: RunId) -> Advanced:
        name = run_id.partition("@")[0]
        self.begun.append(name)
        self.under_way.append(name)
        self._ends[name] = asyncio.get_running_loop().create_future()
        try:
            return await self._ends[name]
        finally:
            self.under_way.remove(name)

    async def ends(self, name: str, how: Advanced = Advanced.DONE) -> None:
        if how is Advanced.DONE:
            state = await self.journal.load(_id(name))
            await self.journal.append(state, RunFinished(at=self.clock.now(), outcome=Outcome.DONE, answer="Well."))
        self._ends[name].set_result(how)
        await self.settled()

    async def breaks(self, name: str) -> None:
        self._ends[name].set_exception(ZeroDivisionError())
        await self.settled()

    async def settled(self) -> None:
        """Let everything happen that happens by itself."""
        for _ in range(30):
            await asyncio.sleep(0)

    async def later(self, seconds: float) -> None:
        self.clock.later(seconds)
        self.bells.work()
        await self.settled()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[asyncio.Task[None]]:
        engine = Embedded(self.journal, self.clock, self.bells)
        task = asyncio.create_task(engine.serve(self.advance, slots=self.slots, stop=self.stop))
        await self.settled()
        yield task
        self.stop.set()
        for end in self._ends.values():
            if not end.done():
                end.set_result(Advanced.YIELDED)
        await asyncio.wait({task})


def _id(name: str) -> RunId:
    return RunId(f"{name}@20261201T060000Z")


async def test_slots_are_filled_oldest_first_and_again_as_they_become_free() -> None:
    desk = Desk()
    await desk.opened("a", "b", "c", "d")
    async with desk.serving():
        assert desk.under_way == ["a", "b"]
        await desk.ends("a")
        assert desk.under_way == ["b", "c"]
        await desk.ends("c")
        assert desk.under_way == ["b", "d"]


async def test_a_run_that_cannot_be_advanced_is_tried_ever_later_and_holds_no_slot() -> None:
    desk = Desk(slots=1)
    await desk.opened("a", "b")
    async with desk.serving():
        await desk.ends("a", Advanced.BUSY)
        assert desk.under_way == ["b"]
        await desk.ends("b")
        assert desk.begun == ["a", "b"]
        for wait in (1, 2, 4, 8, 16, 30, 30):
            tries = desk.begun.count("a")
            await desk.later(wait - 0.5)
            assert desk.begun.count("a") == tries
            await desk.later(0.5)
            assert desk.begun.count("a") == tries + 1
            await desk.ends("a", Advanced.BUSY)


async def test_a_run_that_is_said_to_be_done_and_is_not_keeps_nobody_busy() -> None:
    desk = Desk(slots=1)
    await desk.opened("a")
    async with desk.serving():
        desk._ends["a"].set_result(Advanced.DONE)
        await desk.settled()
        assert desk.begun == ["a"]
        await desk.later(1)
        assert desk.begun == ["a", "a"]


async def test_a_failure_of_one_run_does_not_end_the_others() -> None:
    desk = Desk()
    await desk.opened("a", "b")
    async with desk.serving() as serving:
        await desk.breaks("a")
        assert (desk.under_way, serving.done()) == (["b"], False)
        await desk.later(1)
        assert desk.under_way == ["b", "a"]


async def test_a_journal_that_does_not_answer_is_asked_again() -> None:
    desk = Desk()
    desk.journal.faults["agenda"] = 2
    await desk.opened("a")
    async with desk.serving() as serving:
        assert (desk.under_way, serving.done()) == ([], False)
        await desk.later(5)
        await desk.later(5)
        assert desk.under_way == ["a"]


async def test_a_run_that_waits_for_a_person_is_taken_up_by_the_answer() -> None:
    desk = Desk()
    state = await _waits_for_a_person(desk)
    async with desk.serving():
        assert desk.under_way == []
        decided = ApprovalDecided(at=desk.clock.now(), call_id=CallId("1.1"), decision=Decision.ONCE, by="ann")
        await desk.journal.append(state, decided)
        desk.bells.asked(state.run_id)
        await desk.settled()
        assert desk.under_way == ["a"]


async def test_a_loop_that_breaks_says_so_at_once_and_lets_go_of_its_runs() -> None:
    desk = Desk()
    await desk.opened("a")
    async with desk.serving() as serving:
        assert desk.under_way == ["a"]
        desk.journal.broken.add("agenda")
        desk.bells.work()
        await desk.settled()
        assert (serving.done(), desk.under_way) == (True, [])
        assert isinstance(serving.exception(), ZeroDivisionError)


async def test_a_service_that_stops_waits_for_what_is_under_way_and_begins_nothing() -> None:
    desk = Desk(slots=1)
    await desk.opened("a", "b")
    async with desk.serving() as serving:
        desk.stop.set()
        await desk.settled()
        assert not serving.done()
        await desk.ends("a")
        assert (serving.done(), desk.begun) == (True, ["a"])


async def _waits_for_a_person(desk: Desk) -> RunState:
    now = desk.clock.now()
    job = a_job("a", approval={"when_needed": "suspend"})
    state, _ = await desk.journal.open(a_request(_id("a"), job=job))
    for event in (
        RunAcquired(at=now, epoch=1, worker="one"),
        ContextAssembled(at=now, system="", prompt=(), tools=()),
        ModelCallStarted(at=now, iteration=1, model="m", request_hash="h"),
        replied(1, says("Hm.", call("change")), when=now),
        CallAdjudicated(at=now, call_id=CallId("1.1"), verdict=ruled(Ruling.ASK)),
        ApprovalRequested(at=now, call_id=CallId("1.1")),
    ):
        state = await desk.journal.append(state, event)
    return state
