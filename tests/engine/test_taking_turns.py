"""Runs that may change one workspace are driven one after the other, whoever drives them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from kova_auto.core.event import StopRequested
from kova_auto.core.ids import RunId
from kova_auto.core.job import Outcome
from kova_auto.core.message import ModelChunk, ModelRequest, ReplyDone
from kova_auto.engine.backends.embedded import Embedded
from kova_auto.engine.bells import Ear
from kova_auto.engine.dispatch import Advanced
from tests.engine.worlds import Stage
from tests.support import a_job, a_request, says


@dataclass
class Gate:
    """Be a model that answers when it is let."""

    asked: int = 0
    lets: asyncio.Event = field(default_factory=asyncio.Event)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelChunk, None]:
        del request
        self.asked += 1
        await self.lets.wait()
        yield ReplyDone(reply=says("Done."))


async def opened(stage: Stage, name: str, **job: object) -> RunId:
    request = a_request(f"{name}@1", job=a_job(name, **{"automation": "workspace-write", **job}))
    state, _ = await stage.journal.open(request)
    return state.run_id


async def settled() -> None:
    for _ in range(200):
        await asyncio.sleep(0)


@asynccontextmanager
async def serving(stage: Stage, gate: Gate, slots: int = 4) -> AsyncIterator[None]:
    engine, stop = stage.engine(model=gate), asyncio.Event()
    loop = Embedded(stage.journal, stage.clock, stage.bells)
    task = asyncio.create_task(loop.serve(engine.advance, slots=slots, stop=stop))
    await settled()
    yield
    stop.set()
    gate.lets.set()
    await asyncio.wait({task})


async def kinds(stage: Stage, run_id: RunId) -> list[str]:
    return [event.kind for _, event in await stage.journal.events(run_id)]


async def test_a_second_writer_waits_without_a_task_and_goes_on_by_itself() -> None:
    stage, gate = Stage(), Gate()
    first, second = await opened(stage, "a"), await opened(stage, "b", workspace="/srv/app/web")
    elsewhere = await opened(stage, "c", workspace="/srv/other")
    async with serving(stage, gate, slots=2):
        assert gate.asked == 2
        assert await kinds(stage, second) == ["run_requested", "workspace_awaited"]
        assert (await stage.journal.load(elsewhere)).calling
        gate.lets.set()
        await settled()
        for run_id in (first, second, elsewhere):
            finished = (await stage.journal.load(run_id)).finished
            assert finished
            assert finished.outcome is Outcome.DONE
        assert (await kinds(stage, second)).count("workspace_awaited") == 1


async def test_whoever_follows_a_run_is_told_that_it_waits() -> None:
    stage = Stage()
    first, second = await opened(stage, "a"), await opened(stage, "b")
    gate = Gate()
    driving = asyncio.create_task(stage.engine(model=gate).advance(first))
    await settled()
    with stage.bells.hung(Ear.FOLLOW, second) as bell:
        assert await stage.engine(says("Done.")).advance(second) is Advanced.SUSPENDED
        assert bell.is_set()
    gate.lets.set()
    assert await driving is Advanced.DONE
    assert await stage.engine(says("Done.")).advance(second) is Advanced.DONE


async def test_a_run_that_waits_is_ended_at_once_when_somebody_asks() -> None:
    stage, gate = Stage(), Gate()
    await opened(stage, "a")
    second = await opened(stage, "b")
    async with serving(stage, gate):
        stop = StopRequested(at=stage.clock.now(), outcome=Outcome.CANCELLED, reason="enough", by="ann")
        await stage.journal.append(await stage.journal.load(second), stop)
        stage.bells.asked(second)
        await settled()
        finished = (await stage.journal.load(second)).finished
        assert finished
        assert finished.outcome is Outcome.CANCELLED
