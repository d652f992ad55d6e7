"""Replaying a recorded run: what happened happens again, nothing is executed, and what differs is found."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import Any

import pytest

from kova_auto.core.approval.levels import AutomationLevel, Decision, Ruling
from kova_auto.core.errors import ModelRefusedError, ModelUnavailableError
from kova_auto.core.event import ApprovalDecided, ContextAssembled, RunFinished, RunRetried, StopRequested
from kova_auto.core.fault import Fault
from kova_auto.core.ids import CallId
from kova_auto.core.job import Outcome
from kova_auto.core.message import ModelChunk, ModelReply, ModelRequest, TextPart, ToolMessage
from kova_auto.core.pin import ModelPin
from kova_auto.core.replay import Ending, Match, Replay
from kova_auto.core.run import RunState
from tests.doubles.model import Endless, Failure, ScriptedModel, fails
from tests.engine.replays import DEAR, Again, matches
from tests.engine.worlds import RUN, Stage
from tests.support import a_job, call, says

LOOK_AND_TELL = (says("I look.", call("look", path="a")), says("Nothing new."))
SUSPENDS = {"when_needed": "suspend", "timeout": "1h"}


async def a_run(*replies: ModelReply, **changes: object) -> Stage:
    """Return a stage on which a run has come as far as it goes."""
    stage = Stage()
    await stage.opened(**changes)
    await stage.advance(*replies)
    return stage


def came_out_the_same(replay: Replay) -> bool:
    assert replay.why
    return not replay.differs and replay.outcome_now == replay.outcome_then and replay.reason_now == replay.reason_then


@pytest.mark.parametrize(
    ("replies", "job"),
    [
        (LOOK_AND_TELL, {}),
        ((says("I change.", call("change")), says("It is not allowed.")), {}),
        ((says("", call("change"), call("look", path=7)), says("Done.")), {"automation": "full"}),
        ([says("", call("change", n=n)) for n in range(6)], {}),
        ([says("", call("look"))] * 6, {}),
        ([says("", call("look", n=n), tokens=900) for n in range(6)], {"limits": {"tokens": 4000}}),
        ([says("", call("look", n=n)) for n in range(5)], {"limits": {"iterations": 5}}),
        ((says("  "), says("")), {}),
    ],
    ids=["done", "refused", "several", "blocked", "circles", "tokens", "iterations", "silent"],
)
async def test_a_run_that_is_replayed_comes_out_as_it_did(replies: list[ModelReply], job: dict[str, Any]) -> None:
    stage = await a_run(*replies, job=a_job(**job))
    done, facts = list(stage.hands.done), await stage.facts()
    replay = await Again(stage).played()

    assert (replay.ended, came_out_the_same(replay)) == (Ending.FINISHED, True)
    assert {match for calls in matches(replay) for _, match in calls} <= {Match.SAME}
    assert (stage.hands.done, await stage.facts()) == (done, facts)


async def test_a_person_says_again_what_was_said() -> None:
    for decision, outcome in ((Decision.ONCE, 1), (Decision.DENY, 0)):
        stage = await a_run(says("", call("change")), says("Well."), job=a_job(approval=SUSPENDS))
        said = ApprovalDecided(at=stage.clock.now(), call_id=CallId("1.1"), decision=decision, by="ann", note="hm")
        await stage.journal.append(await stage.journal.load(RUN), said)
        await stage.advance(says("", call("change")), says("Well."))
        assert len(stage.hands.done) == outcome
        replay = await Again(stage).played()
        assert (replay.ended, came_out_the_same(replay)) == (Ending.FINISHED, True)


async def test_a_run_that_waits_for_a_person_is_replayed_as_far_as_it_went() -> None:
    stage = await a_run(says("", call("change")), job=a_job(approval=SUSPENDS))
    replay = await Again(stage).played()
    assert (replay.differs, replay.ended, replay.outcome_now) == (False, Ending.RECORDING, None)
    assert replay.why == "the recording ends while call 1.1 waits for a person"


async def test_a_run_that_nobody_answered_ends_again_as_it_did() -> None:
    job = a_job(approval={**SUSPENDS, "on_timeout": "stop"})
    stage = await a_run(says("", call("change")), job=job)
    stage.clock.later(3601)
    await stage.advance(says("", call("change")))
    assert await stage.ended() == (Outcome.BLOCKED, "nobody answered in time about change")
    assert came_out_the_same(await Again(stage).played())


async def test_a_cancelled_run_is_cancelled_again_where_it_was() -> None:
    stage = Stage()
    stage.hands.waits = frozenset({"look"})
    await stage.opened()
    driving = asyncio.create_task(stage.advance(says("", call("look"), call("look", n=2)), says("Never.")))
    await stage.hands.working.wait()
    stop = StopRequested(at=stage.clock.now(), outcome=Outcome.CANCELLED, reason="enough", by="ann")
    await stage.journal.append(await stage.journal.load(RUN), stop)
    stage.bells.asked(RUN)
    await driving

    replay = await Again(stage).played()
    assert (came_out_the_same(replay), replay.outcome_now, replay.reason_now) == (True, Outcome.CANCELLED, "enough")


async def test_a_run_that_ran_out_of_time_does_so_again() -> None:
    for replies in (LOOK_AND_TELL, ()):  # in a tool, or while the model is asked
        stage, endless = Stage(), Endless()
        stage.hands.waits = frozenset({"look"})
        await stage.opened(job=a_job(limits={"timeout": "1m"}))
        engine = stage.engine(*replies) if replies else stage.engine(model=endless)
        driving = asyncio.create_task(engine.advance(RUN))
        await (stage.hands.working if replies else endless.spoke).wait()
        stage.clock.later(61)
        stage.bells.asked(RUN)
        await driving
        assert (await stage.ended())[0] is Outcome.TIMED_OUT
        assert came_out_the_same(await Again(stage).played())


class Slow(ScriptedModel):
    """Take most of a minute for the first reply."""

    def __init__(self, stage: Stage, *lines: ModelReply | Failure) -> None:
        super().__init__(*lines)
        self._stage = stage

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelChunk, None]:
        if not self.requests:
            self._stage.clock.later(50)
        async for chunk in super().stream(request):
            yield chunk


@pytest.mark.parametrize("slow", ["tool", "model", "beginning", "wait"])
async def test_what_took_time_takes_it_again_and_what_was_no_running_time_is_none(slow: str) -> None:
    stage = Stage()
    await stage.opened(job=a_job(limits={"timeout": "1m"}))
    model = Slow(stage, *LOOK_AND_TELL) if slow == "model" else ScriptedModel(*LOOK_AND_TELL)
    if slow == "tool":
        stage.hands.meanwhile = lambda: stage.clock.later(50)
    if slow == "beginning":
        state = await stage.journal.acquire(RUN, worker="zero", now=stage.clock.now(), lease=timedelta(seconds=90))
        assert isinstance(state, RunState)
        stage.clock.later(50)
        await stage.journal.append(state, a_context(stage))
        await stage.journal.release(RUN, epoch=state.epoch)
    if slow == "wait":
        busy = ModelUnavailableError("busy", fault=Fault.RATE_LIMITED, retry_after_s=50.0)
        model = ScriptedModel(fails(busy), *LOOK_AND_TELL)
        await stage.engine(model=model).advance(RUN)
        stage.clock.later(52)
    await stage.engine(model=model).advance(RUN)

    replay = await Again(stage).played()
    assert (came_out_the_same(replay), replay.partial_now) == (True, slow in {"tool", "model"})


def a_context(stage: Stage) -> ContextAssembled:
    return ContextAssembled(at=stage.clock.now(), system="", prompt=(TextPart(text="Look."),), tools=())


@pytest.mark.parametrize("on_interrupt", ["fail", "resume"])
async def test_workers_that_died_die_again(on_interrupt: str) -> None:
    stage = Stage()
    await stage.opened(job=a_job(policy={"on_interrupt": on_interrupt}))
    for _ in range(6):
        await stage.journal.acquire(RUN, worker="poor", now=stage.clock.now(), lease=timedelta(seconds=30))
        stage.clock.later(31)
    await stage.advance(*LOOK_AND_TELL)
    assert came_out_the_same(await Again(stage).played())


async def test_a_blocked_run_is_blocked_again() -> None:
    assert came_out_the_same(await Again(await a_run(blocked="no provider is configured")).played())
    stage = Stage(hindrance="no confinement is proven here")
    await stage.opened()
    await stage.advance()
    assert came_out_the_same(await Again(stage).played())


async def a_run_that_fails(*lines: ModelReply | Failure, again: int) -> Stage:
    stage, model = Stage(), ScriptedModel(*lines)
    await stage.opened(pins=(ModelPin(name="a/one"), ModelPin(name="b/two")), model="a/one")
    engine = stage.engine(model=model)
    for _ in range(again):
        await engine.advance(RUN)
        stage.clock.later(30)
    await engine.advance(RUN)
    return stage


async def test_failures_of_a_model_happen_again_and_their_waits_take_no_time() -> None:
    down = fails(ModelUnavailableError("down", fault=Fault.SERVER))
    stage = await a_run_that_fails(down, says("", call("look")), down, down, says("Well."), again=3)
    again = Again(stage)
    replay = await again.played()
    assert (came_out_the_same(replay), replay.outcome_now, again.waited) == (True, Outcome.DONE, [])


async def test_a_model_that_was_given_up_is_given_up_again_for_the_next_or_for_good() -> None:
    refused = fails(ModelRefusedError("no such model", fault=Fault.INVALID))
    replay = await Again(await a_run_that_fails(refused, says("Well."), again=1)).played()
    assert (came_out_the_same(replay), replay.outcome_now) == (True, Outcome.DONE)
    replay = await Again(await a_run_that_fails(refused, refused, again=1)).played()
    assert (came_out_the_same(replay), replay.reason_now) == (True, "ModelRefused: no such model")


async def test_any_attempt_can_be_replayed() -> None:
    stage = await a_run(says("  "), says(""))
    state = await stage.journal.load(RUN)
    await stage.journal.append(state, RunRetried(at=stage.clock.now(), attempt=2, by="ann"))
    await stage.advance(*LOOK_AND_TELL)
    first, last = await Again(stage).played(1), await Again(stage).played()
    assert [(one.attempt, one.outcome_now, came_out_the_same(one)) for one in (first, last)] == [
        (1, Outcome.FAILED, True),
        (2, Outcome.DONE, True),
    ]
    assert [iteration.number for iteration in last.iterations] == [3, 4]


async def test_a_verdict_that_is_another_one_today_is_shown_and_the_replies_are_played_on() -> None:
    stage = await a_run(says("", call("change")), says("Well."), job=a_job(automation="full"))
    replay = await Again(stage, level=AutomationLevel.READ_ONLY).played()
    (found,) = replay.iterations[0].calls
    assert found.verdict_then is not None
    assert found.verdict_now is not None
    assert (found.verdict_then.ruling, found.verdict_now.ruling) == (Ruling.ALLOW, Ruling.ASK)
    assert (found.match, found.differs, replay.differs, replay.outcome_now) == (Match.SAME, True, True, Outcome.DONE)

    stage = await a_run(says("", call("change")), says("Well."))
    replay = await Again(stage, level=AutomationLevel.FULL).played()
    assert (replay.iterations[0].differs, replay.outcome_now, stage.hands.done) == (True, Outcome.DONE, [])


async def test_a_run_that_is_stopped_earlier_today_has_iterations_that_it_did_not_come_to() -> None:
    replies = [says("", call("change", n=n)) for n in range(6)]
    stage = await a_run(*replies, says("Well."), job=a_job(automation="full"))
    replay = await Again(stage, level=AutomationLevel.READ_ONLY).played()
    assert (replay.outcome_then, replay.outcome_now, replay.unreached) == (Outcome.DONE, Outcome.BLOCKED, 2)
    assert replay.differs


async def test_a_run_that_goes_on_today_where_it_was_ended_says_so() -> None:
    stage = Stage()
    await stage.opened()
    await stage.engine(model=ScriptedModel(fails(ModelUnavailableError("down")))).advance(RUN)
    ended = RunFinished(at=stage.clock.now(), outcome=Outcome.FAILED, reason="a rule that is no more")
    await stage.journal.append(await stage.journal.load(RUN), ended)
    replay = await Again(stage).played()
    assert (replay.ended, replay.why, replay.outcome_now, replay.differs) == (
        Ending.RECORDING,
        "the recording ends here, and today the model would be asked again",
        None,
        True,
    )


async def test_where_calls_cannot_be_judged_anew_the_recorded_verdicts_stand() -> None:
    stage = await a_run(says("", call("change")), says("Well."), job=a_job(automation="full"))
    again = Again(stage, level=AutomationLevel.READ_ONLY, unjudged="its workspace is gone")
    replay = await again.played()
    assert (came_out_the_same(replay), replay.unjudged) == (True, "its workspace is gone")


async def test_another_model_is_told_what_the_recording_holds_and_its_price_counts() -> None:
    stage = await a_run(*LOOK_AND_TELL)
    model = ScriptedModel(says("Let me see.", call("look", path="a"), tokens=30, cost_usd=None), says("Nothing new."))
    replay = await Again(stage).asked(model)

    assert matches(replay) == [[("1.1", Match.SAME)], []]
    assert [(one.text_then, one.text_now) for one in replay.iterations] == [
        ("I look.", "Let me see."),
        ("Nothing new.", "Nothing new."),
    ]
    assert (replay.iterations[0].cost_usd_then, replay.iterations[0].cost_usd_now) == (0.001, 0.03)
    assert (replay.model_now, replay.outcome_now, replay.differs) == (DEAR.name, Outcome.DONE, True)
    told = model.requests[1].messages[-1]
    assert isinstance(told, ToolMessage)
    assert told.parts == (await stage.journal.load(RUN)).calls[CallId("1.1")].result.parts  # type: ignore[union-attr]
    assert stage.hands.done == ["1.1 look"]


async def test_the_first_call_that_the_recording_does_not_hold_is_where_it_ends() -> None:
    stage = await a_run(*LOOK_AND_TELL, job=a_job(automation="full"))
    facts = await stage.facts()
    replies = says("", call("look", path="a")), says("", call("look", path="b"), call("change")), says("Never asked.")
    model = ScriptedModel(*replies)
    replay = await Again(stage).asked(model)

    assert (replay.ended, replay.diverged_at, replay.why) == (
        Ending.DIVERGED,
        "2.1",
        "the recording holds no such call of look",
    )
    assert matches(replay) == [[("1.1", Match.SAME)], [("2.1", Match.NEW), ("2.2", Match.NEW)]]
    judged = [call.verdict_now.ruling if call.verdict_now else None for call in replay.iterations[1].calls]
    assert judged == [Ruling.ALLOW, None]
    assert (stage.hands.done, await stage.facts(), len(model.requests)) == (["1.1 look"], facts, 2)


async def test_calls_that_are_made_in_another_place_are_found_all_the_same() -> None:
    stage = await a_run(says("", call("look", n=1), call("look", n=2)), says("", call("look", n=3)), says("Well."))
    model = ScriptedModel(says("", call("look", n=3), call("look", n=1)), says("Well."))
    replay = await Again(stage).asked(model)
    assert matches(replay) == [
        [("1.1", Match.MOVED), ("1.2", Match.MOVED), ("1.2", Match.MISSING)],
        [],
    ]
    assert (replay.ended, replay.unreached, replay.differs) == (Ending.FINISHED, 1, True)


async def test_what_was_refused_then_and_would_be_done_today_is_not_in_the_recording() -> None:
    stage = await a_run(says("", call("change")), says("Well."))
    model = ScriptedModel(says("", call("change")))
    replay = await Again(stage, level=AutomationLevel.FULL).asked(model)
    assert (replay.ended, replay.diverged_at, replay.why, stage.hands.done) == (
        Ending.DIVERGED,
        "1.1",
        "call 1.1 would be executed today; the recording holds only its refusal",
        [],
    )


async def test_nobody_is_asked_in_a_replay() -> None:
    stage = await a_run(says("", call("change")), says("Well."), job=a_job(automation="full", approval=SUSPENDS))
    model = ScriptedModel(says("", call("change")), says("Then not."))
    replay = await Again(stage, level=AutomationLevel.READ_ONLY).asked(model)
    told = model.requests[1].messages[-1]
    assert isinstance(told, ToolMessage)
    assert "nobody is asked in a replay" in told.parts[0].text  # type: ignore[union-attr]
    assert replay.outcome_now is Outcome.DONE


async def test_a_model_that_is_busy_is_asked_again_but_not_much_later() -> None:
    stage = await a_run(*LOOK_AND_TELL)
    busy = ModelUnavailableError("busy", fault=Fault.RATE_LIMITED, retry_after_s=40.0)
    again = Again(stage)
    replay = await again.asked(ScriptedModel(fails(busy), *LOOK_AND_TELL))
    assert (replay.ended, [40 <= waited < 42 for waited in again.waited]) == (Ending.FINISHED, [True])

    busy.retry_after_s = 3600.0
    replay = await Again(stage).asked(ScriptedModel(fails(busy)))
    assert (replay.ended, replay.differs) == (Ending.WAITING, True)
    assert replay.why.endswith("s: busy")


async def test_the_ceilings_of_the_job_hold_for_another_model() -> None:
    stage = await a_run(*LOOK_AND_TELL, job=a_job(limits={"cost_usd": 0.5}))
    model = ScriptedModel(says("", call("look", path="a"), tokens=600, cost_usd=None), says("Never asked."))
    replay = await Again(stage).asked(model)
    assert (replay.outcome_now, replay.tokens_now, len(model.requests)) == (Outcome.BUDGET_EXCEEDED, 600, 1)


async def test_a_call_that_a_person_edited_is_edited_again() -> None:
    job = a_job(approval=SUSPENDS)
    replies = (says("I change.", call("change"), call("change", path="b")), says("So be it."))
    stage = await a_run(*replies, job=job)
    for number, args in (("1.1", {"path": "other"}), ("1.2", None)):
        said = ApprovalDecided(
            at=stage.clock.now(), call_id=CallId(number), decision=Decision.ONCE, by="ann", args=args
        )
        await stage.journal.append(await stage.journal.load(RUN), said)
    await stage.advance(*replies)

    replay = await Again(stage).played()

    assert came_out_the_same(replay)
    assert stage.hands.done == ["1.1 change", "1.2 change"]
