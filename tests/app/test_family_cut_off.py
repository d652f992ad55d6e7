"""A dispatch that is cut off half-way leaves no child that its parent does not know of."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from kova_auto.app.house import House
from kova_auto.app.subagents import Children
from kova_auto.core.errors import ToolFailedError
from kova_auto.core.event import CallFinished, RunRequested, StopRequested
from kova_auto.core.ids import CallId, RunId
from kova_auto.core.job import Outcome
from kova_auto.core.message import ResultStatus, told
from kova_auto.core.nursery import Task
from kova_auto.core.ports import Journal
from kova_auto.core.run import RunState
from kova_auto.engine.dispatch import Advanced
from kova_auto.engine.scene import scene_of
from kova_auto.tools.subagents import DispatchTool
from tests.app.families import FIRST, RUN, asked, call, child, leads, played, state_of, task, turn
from tests.app.houses import Home

CALL = CallId("1.1")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path.resolve())


class Late:
    """Be a journal that commits a while after it was asked to open a run, whether anybody still waits or not."""

    def __init__(self, journal: Journal) -> None:
        self._journal, self.begun, self.under_way = journal, asyncio.Event(), set[asyncio.Task[tuple[RunState, bool]]]()

    async def open(self, event: RunRequested) -> tuple[RunState, bool]:
        task = asyncio.create_task(self._commits(event))
        self.under_way.add(task)
        self.begun.set()
        return await asyncio.shield(task)

    async def _commits(self, event: RunRequested) -> tuple[RunState, bool]:
        await asyncio.sleep(0.3)
        return await self._journal.open(event)

    async def load(self, run_id: RunId) -> RunState:
        return await self._journal.load(run_id)


def made_late(house: House) -> Late:
    tool = house.tooling.toolbox._tools["Task"]
    assert isinstance(tool, DispatchTool)
    late = Late(house.store.journal)
    tool._nursery = replace(cast("Children", tool._nursery), journal=cast("Journal", late))
    return late


async def test_a_run_that_is_ended_while_it_dispatches_ends_what_it_has_dispatched(home: Home) -> None:
    leads(home, played([turn("I send one.", task()), turn("", call("TaskWait")), turn("So.")], child(turn("never"))))
    async with home.house() as house:
        late = made_late(house)
        await asked(house, home)
        driving = asyncio.create_task(house.engine.advance(RUN))
        await late.begun.wait()
        wish = StopRequested(at=house.clock.now(), outcome=Outcome.CANCELLED, reason="enough", by="ada")
        await house.store.journal.append(await state_of(house), wish)
        house.bells.asked(RUN)
        assert await driving is Advanced.SUSPENDED
        await asyncio.gather(*late.under_way)
        assert await house.engine.advance(FIRST) is Advanced.DONE
        assert await house.engine.advance(RUN) is Advanced.DONE
        parent, below = await state_of(house), await state_of(house, FIRST)

    assert parent.finished
    assert below.finished
    assert (parent.finished.outcome, below.finished.outcome) == (Outcome.CANCELLED, Outcome.CANCELLED)
    assert [one.run_id for one in parent.children.values()] == [FIRST]


async def test_a_worker_that_was_given_up_for_dead_dispatches_nobody_any_more(home: Home) -> None:
    leads(home, played([turn("I send one.", task()), turn("So.")], child(turn("never"))))
    async with home.house() as house:
        await asked(house, home)
        late = made_late(house)
        driving = asyncio.create_task(house.engine.advance(RUN))
        await late.begun.wait()
        before = await state_of(house)
        unknown = CallFinished(at=house.clock.now(), call_id=CALL, result=told(ResultStatus.UNKNOWN, "it was cut off"))
        await house.store.journal.append(before, unknown)
        tool = house.tooling.toolbox._tools["Task"]
        assert isinstance(tool, DispatchTool)
        with pytest.raises(ToolFailedError, match="another worker has settled call"):
            await tool._nursery.dispatch(Task("fixer", "mend it"), scene_of(before, house.engine._world, CALL))
        driving.cancel()
        await asyncio.gather(driving, return_exceptions=True)
