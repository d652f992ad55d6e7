"""A worker that is cancelled lets go of its run in good order: the next one goes on from that very step."""

from __future__ import annotations

import asyncio

import pytest

from kova_auto.core.ids import CallId
from kova_auto.core.job import Outcome
from kova_auto.core.message import ResultStatus
from kova_auto.engine.dispatch import Advanced
from tests.engine.worlds import RUN, Stage
from tests.support import a_job, call, ready, says

REPLIES = (says("Hm.", call("change")), says("Somebody changed it."))


async def _at_work(stage: Stage) -> asyncio.Task[Advanced]:
    stage.hands.waits = frozenset({"change", "look"})
    await stage.opened(job=a_job(automation="full"))
    driving = asyncio.create_task(stage.engine(*REPLIES).advance(RUN))
    await stage.hands.working.wait()
    return driving


async def test_a_cancelled_worker_lets_its_tool_tidy_up_and_gives_the_run_back() -> None:
    stage = Stage()
    driving = await _at_work(stage)

    driving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await driving

    assert stage.hands.left == [CallId("1.1")]
    assert (await stage.kinds())[-1] == "call_started"
    assert ready(await stage.journal.agenda(stage.clock.now())) == [RUN]


async def test_a_second_cancellation_does_not_disturb_the_tidying() -> None:
    stage = Stage()
    driving = await _at_work(stage)

    driving.cancel()
    await stage.hands.leaving.wait()
    driving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await driving

    assert stage.hands.left == [CallId("1.1")]
    assert ready(await stage.journal.agenda(stage.clock.now())) == [RUN]


async def test_the_next_worker_goes_on_from_the_step_that_was_cut_off() -> None:
    stage = Stage()
    driving = await _at_work(stage)
    driving.cancel()
    await asyncio.wait({driving})

    assert await stage.engine(*REPLIES, worker="two").advance(RUN) is Advanced.DONE
    assert await stage.ended() == (Outcome.DONE, "")
    assert await stage.statuses() == [ResultStatus.UNKNOWN]
    assert (await stage.journal.load(RUN)).deaths == 0


async def test_a_call_that_is_made_again_is_closed_like_any_other() -> None:
    stage = Stage()
    stage.hands.waits = frozenset({"look"})
    await stage.opened()
    for _ in range(2):
        stage.hands.working.clear()
        driving = asyncio.create_task(stage.advance(says("Hm.", call("look")), says("Done.")))
        await stage.hands.working.wait()
        driving.cancel()
        await asyncio.wait({driving})

    assert stage.hands.left == [CallId("1.1"), CallId("1.1")]
