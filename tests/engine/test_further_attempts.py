"""An attempt that ends as the job's policy covers: the run rests, and begins anew; nobody is told before its end."""

from __future__ import annotations

import asyncio

import pytest

from kova_auto.core.errors import ModelUnavailableError
from kova_auto.core.event import RunFinished, RunRetried, StopRequested
from kova_auto.core.fault import Fault
from kova_auto.core.job import Job, Outcome
from kova_auto.core.replay import Ending
from kova_auto.core.retrying import BY_POLICY
from kova_auto.core.run import Execution
from kova_auto.core.view import run_row
from kova_auto.engine.dispatch import Advanced
from tests.doubles.model import ScriptedModel, fails
from tests.engine.replays import Again
from tests.engine.worlds import RUN, Stage
from tests.support import a_job, call, says

BUSY = fails(ModelUnavailableError("busy", fault=Fault.RATE_LIMITED, retry_after_s=100_000.0))
TOLD = "ModelUnavailable: busy (it asks to wait 100000 s; a run waits 86400 s at most)"


def patient(timeout: str = "20m") -> Job:
    retry = {"attempts": 2, "on": ["rate_limit", "failed", "timed_out"]}
    return a_job(notify=[{"endpoint": "ci"}], policy={"retry": retry}, limits={"timeout": timeout})


async def ends(stage: Stage) -> list[RunRetried | RunFinished]:
    return [event for event in await stage.facts() if isinstance(event, RunRetried | RunFinished)]


async def waits(stage: Stage, model: ScriptedModel) -> None:
    """Come to the end of an attempt, and to the instant of the next."""
    assert await stage.engine(model=model).advance(RUN) is Advanced.SUSPENDED
    row = run_row(await stage.journal.load(RUN))
    assert row.wake_at is not None
    assert (row.execution, row.resting) == (Execution.QUEUED, True)
    assert stage.clock.now() < row.wake_at
    assert (await stage.journal.agenda(stage.clock.now())).ready == ()
    stage.clock.later((row.wake_at - stage.clock.now()).total_seconds())
    assert RUN in (await stage.journal.agenda(stage.clock.now())).ready


async def test_a_run_that_fails_twice_and_then_answers_is_one_run_with_three_attempts_and_one_report() -> None:
    stage, model = Stage(), ScriptedModel(BUSY, BUSY, says("Well."))
    await stage.opened(job=patient())
    await waits(stage, model)
    await waits(stage, model)

    assert await stage.engine(model=model).advance(RUN) is Advanced.DONE
    first, second, last = await ends(stage)
    assert [(one.by, one.attempt, one.ended, one.reason) for one in (first, second) if isinstance(one, RunRetried)] == [
        (BY_POLICY, 2, Outcome.FAILED, TOLD),
        (BY_POLICY, 3, Outcome.FAILED, TOLD),
    ]
    assert isinstance(last, RunFinished)
    state = await stage.journal.load(RUN)
    assert (last.outcome, last.answer, state.attempt) == (Outcome.DONE, "Well.", 3)
    assert [owed.cause_seq for owed in state.deliveries.values()] == [state.seq]


async def test_the_last_attempt_is_the_runs_end() -> None:
    stage, model = Stage(), ScriptedModel(BUSY, BUSY, BUSY)
    await stage.opened(job=patient())
    await waits(stage, model)
    await waits(stage, model)
    assert await stage.engine(model=model).advance(RUN) is Advanced.DONE
    assert await stage.ended() == (Outcome.FAILED, TOLD)


async def test_what_an_attempt_held_is_settled_before_the_run_rests() -> None:
    stage, model = Stage(), ScriptedModel(says("", call("look")), BUSY, says("Well."))
    await stage.opened(job=patient())
    await waits(stage, model)
    assert stage.hands.settled == [RUN]


async def test_nobody_holds_a_run_that_waits_for_its_next_attempt() -> None:
    stage, model = Stage(), ScriptedModel(BUSY, says("Well."))
    await stage.opened(job=patient())
    await waits(stage, model)
    assert await stage.engine(model=model, worker="two").advance(RUN) is Advanced.DONE
    assert (await stage.journal.load(RUN)).deaths == 0


async def test_who_waits_for_the_next_attempt_is_cancelled_at_once() -> None:
    stage, model = Stage(), ScriptedModel(BUSY)
    await stage.opened(job=patient())
    await stage.engine(model=model).advance(RUN)
    state = await stage.journal.load(RUN)
    stopped = StopRequested(at=stage.clock.now(), outcome=Outcome.CANCELLED, reason="enough", by="ann")
    await stage.journal.append(state, stopped)

    assert await stage.engine(model=model).advance(RUN) is Advanced.DONE
    assert await stage.ended() == (Outcome.CANCELLED, "enough")
    assert len(model.requests) == 1


async def test_a_wish_to_end_the_run_that_comes_as_its_attempt_ends_is_heeded() -> None:
    stage, model = Stage(), ScriptedModel(BUSY, says("Well."))
    await stage.opened(job=patient())

    async def cancelled() -> None:
        state = await stage.journal.load(RUN)
        stopped = StopRequested(at=stage.clock.now(), outcome=Outcome.CANCELLED, reason="enough", by="ann")
        await stage.journal.append(state, stopped)

    wishes: list[asyncio.Task[None]] = []
    stage.hands.meanwhile = lambda: None if wishes else wishes.append(asyncio.ensure_future(cancelled()))
    assert await stage.engine(model=model).advance(RUN) is Advanced.DONE
    assert await stage.ended() == (Outcome.CANCELLED, "enough")
    assert len(await ends(stage)) == 1


async def test_running_time_begins_anew_with_each_attempt_and_ends_each() -> None:
    stage = Stage()
    await stage.opened(job=patient("10s"))
    model = ScriptedModel(says("", call("look")))

    def takes_too_long() -> None:
        stage.clock.later(11)
        stage.hands.meanwhile = lambda: None

    for _ in range(2):
        stage.hands.meanwhile = takes_too_long
        await waits(stage, model)
    stage.hands.meanwhile = takes_too_long
    assert await stage.engine(model=model).advance(RUN) is Advanced.DONE
    assert await stage.ended() == (Outcome.TIMED_OUT, "its limit of 10s running time is reached")


@pytest.mark.parametrize("attempt", [1, 2, 3])
async def test_each_attempt_can_be_replayed_and_comes_out_as_it_did(attempt: int) -> None:
    stage, model = Stage(), ScriptedModel(BUSY, says("", call("look")), BUSY, says("Well."))
    await stage.opened(job=patient())
    await waits(stage, model)
    await waits(stage, model)
    await stage.engine(model=model).advance(RUN)

    replay = await Again(stage).played(attempt)
    outcome = Outcome.DONE if attempt == 3 else Outcome.FAILED
    assert (replay.differs, replay.ended, replay.outcome_then, replay.outcome_now) == (
        False,
        Ending.FINISHED,
        outcome,
        outcome,
    )
