"""Whole runs as short scripts: what the driver writes down, and where it rests."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from kova_auto.core.approval.levels import Decision
from kova_auto.core.event import (
    ApprovalDecided,
    CallFinished,
    ModelReplied,
    Origin,
    RunFinished,
    RunRetried,
    StopRequested,
)
from kova_auto.core.ids import CallId
from kova_auto.core.job import Outcome
from kova_auto.core.message import CallRequest, ResultStatus, ToolMessage
from kova_auto.engine.dispatch import Advanced
from tests.doubles.model import ScriptedModel
from tests.engine.worlds import RUN, Stage
from tests.support import a_job, call, says

LOOK_AND_TELL = (says("Hm.", call("look", path="a")), says("It is fine."))


async def test_a_run_goes_on_until_the_model_asks_for_no_tool() -> None:
    stage = Stage()
    await stage.opened()

    assert await stage.advance(*LOOK_AND_TELL) is Advanced.DONE

    assert await stage.kinds() == [
        "run_requested",
        "run_acquired",
        "context_assembled",
        "model_call_started",
        "model_replied",
        "call_adjudicated",
        "call_started",
        "call_finished",
        "model_call_started",
        "model_replied",
        "run_finished",
    ]
    finished = (await stage.facts())[-1]
    assert isinstance(finished, RunFinished)
    assert (finished.outcome, finished.answer) == (Outcome.DONE, "It is fine.")
    assert stage.hands.done == ["1.1 look"]


async def test_a_finished_run_is_not_touched_again() -> None:
    stage = Stage()
    await stage.opened()
    await stage.advance(*LOOK_AND_TELL)
    before = await stage.kinds()

    assert await stage.advance(*LOOK_AND_TELL) is Advanced.DONE
    assert await stage.kinds() == before


async def test_a_denied_call_is_reported_to_the_model() -> None:
    stage = Stage()
    await stage.opened()

    await stage.advance(says("Hm.", call("change", path="a")), says("I may not."))

    results = [event.result for event in await stage.facts() if isinstance(event, CallFinished)]
    assert [result.status for result in results] == [ResultStatus.DENIED]
    assert "call_started" not in await stage.kinds()
    assert stage.hands.done == []


async def test_arguments_that_fit_no_schema_are_an_error_and_not_a_refusal() -> None:
    stage = Stage()
    await stage.opened()

    await stage.advance(says("Hm.", call("look", path=7)), says("Sorry."))

    results = [event.result for event in await stage.facts() if isinstance(event, CallFinished)]
    assert [(result.status, result.text) for result in results] == [(ResultStatus.ERROR, "wanted text")]
    assert (await stage.journal.load(RUN)).denials == 0


async def test_too_many_refusals_end_the_run_as_blocked() -> None:
    stage = Stage()
    await stage.opened(job=a_job(limits={"denials": 2}))

    await stage.advance(says("Hm.", call("change"), call("change"), call("change")))

    state = await stage.journal.load(RUN)
    assert state.finished is not None
    assert state.finished.outcome is Outcome.BLOCKED
    assert await stage.statuses() == [ResultStatus.DENIED, ResultStatus.DENIED, ResultStatus.CANCELLED]


async def test_a_call_that_needs_a_person_rests_and_goes_on_from_there() -> None:
    stage = Stage()
    job = a_job(approval={"when_needed": "suspend", "timeout": "1h"})
    await stage.opened(job=job)
    engine = stage.engine(says("Hm.", call("change")), says("Changed."))

    assert await engine.advance(RUN) is Advanced.SUSPENDED
    assert stage.hands.done == []

    state = await stage.journal.load(RUN)
    decided = ApprovalDecided(at=stage.clock.now(), call_id=CallId("1.1"), decision=Decision.ONCE, by="ann")
    await stage.journal.append(state, decided)
    assert await engine.advance(RUN) is Advanced.DONE
    assert stage.hands.done == ["1.1 change"]
    assert (await stage.kinds()).count("model_replied") == 2


async def test_nobody_answering_in_time_is_a_refusal() -> None:
    stage = Stage()
    await stage.opened(job=a_job(approval={"when_needed": "suspend", "timeout": "1h"}))
    engine = stage.engine(says("Hm.", call("change")), says("Then not."))
    await engine.advance(RUN)

    stage.clock.later(3599)
    assert await engine.advance(RUN) is Advanced.SUSPENDED
    stage.clock.later(1)
    assert await engine.advance(RUN) is Advanced.DONE

    state = await stage.journal.load(RUN)
    assert state.finished is not None
    assert (state.finished.outcome, state.finished.answer) == (Outcome.DONE, "Then not.")
    assert stage.hands.done == []


async def test_suspended_time_does_not_count_as_running_time() -> None:
    stage = Stage()
    await stage.opened(job=a_job(approval={"when_needed": "suspend", "timeout": "12h"}, limits={"timeout": "1m"}))
    engine = stage.engine(says("Hm.", call("change")), says("Done."))
    await engine.advance(RUN)

    stage.clock.later(3600)
    decided = ApprovalDecided(at=stage.clock.now(), call_id=CallId("1.1"), decision=Decision.ONCE, by="ann")
    await stage.journal.append(await stage.journal.load(RUN), decided)
    await engine.advance(RUN)

    state = await stage.journal.load(RUN)
    assert state.finished is not None
    assert (state.finished.outcome, state.ran_s) == (Outcome.DONE, 0.0)


async def test_a_cancelled_run_cuts_off_the_call_under_way_and_says_that_it_is_unknown() -> None:
    stage = Stage()
    stage.hands.waits = frozenset({"look"})
    await stage.opened()
    driving = asyncio.create_task(stage.advance(*LOOK_AND_TELL))
    await stage.hands.working.wait()

    stop = StopRequested(at=stage.clock.now(), outcome=Outcome.CANCELLED, reason="enough", by="ann")
    await stage.journal.append(await stage.journal.load(RUN), stop)
    stage.bells.asked(RUN)

    assert await driving is Advanced.DONE
    state = await stage.journal.load(RUN)
    assert state.finished is not None
    assert (state.finished.outcome, state.finished.reason) == (Outcome.CANCELLED, "enough")
    assert await stage.statuses() == [ResultStatus.UNKNOWN]
    assert stage.hands.recovered == ["1.1 look"]


async def test_a_worker_that_stops_leaves_the_call_in_doubt_and_the_next_settles_it() -> None:
    stage = Stage()
    stage.hands.waits = frozenset({"change"})
    await stage.opened(job=a_job(automation="full"))
    replies = (says("Hm.", call("change")), says("Somebody changed it."))
    engine = stage.engine(*replies)
    driving = asyncio.create_task(engine.advance(RUN))
    await stage.hands.working.wait()
    engine.stopping.gently.set()
    engine.stopping.now.set()
    assert await driving is Advanced.YIELDED

    assert await stage.engine(*replies, worker="two").advance(RUN) is Advanced.DONE
    state = await stage.journal.load(RUN)
    result = state.calls[CallId("1.1")].result
    assert result is not None
    assert result.status is ResultStatus.UNKNOWN
    assert stage.hands.done == []


async def test_nothing_is_announced_once_the_service_ends_at_once() -> None:
    stage = Stage()
    await stage.opened()
    engine = stage.engine(*LOOK_AND_TELL)
    stage.hands.meanwhile = engine.stopping.now.set

    assert await engine.advance(RUN) is Advanced.YIELDED
    assert (await stage.kinds())[-1] == "call_finished"
    assert not engine.stopping.now.bells


async def test_a_call_under_an_id_that_the_provider_gave_before_is_settled_by_itself() -> None:
    stage = Stage()
    second = asyncio.Event()
    stage.hands.waits = frozenset({"change"})
    stage.hands.meanwhile = lambda: second.set() if stage.hands.done else None
    look, change = (CallRequest(tool=tool, provider_id="call-1") for tool in ("look", "change"))
    await stage.opened(job=a_job(automation="full"))
    model = ScriptedModel(says("Hm.", look), says("Hm again.", change), says("Well."))
    engine = stage.engine(model=model)
    driving = asyncio.create_task(engine.advance(RUN))
    await second.wait()
    engine.stopping.gently.set()
    engine.stopping.now.set()
    await driving

    assert await stage.engine(model=model, worker="two").advance(RUN) is Advanced.DONE
    assert (stage.hands.done, await stage.statuses()) == (["1.1 look"], [ResultStatus.OK, ResultStatus.UNKNOWN])
    results = [message for message in model.requests[-1].messages if isinstance(message, ToolMessage)]
    assert [(message.call.id, message.call.provider_id) for message in results] == [
        ("1.1", "call-1"),
        ("2.1", "call-1"),
    ]


async def test_a_call_that_is_safe_to_repeat_is_made_again_after_a_crash() -> None:
    stage = Stage()
    stage.hands.waits = frozenset({"look"})
    await stage.opened()
    engine = stage.engine(*LOOK_AND_TELL)
    driving = asyncio.create_task(engine.advance(RUN))
    await stage.hands.working.wait()
    engine.stopping.gently.set()
    engine.stopping.now.set()
    await driving

    stage.hands.waits = frozenset()
    assert await stage.engine(*LOOK_AND_TELL, worker="two").advance(RUN) is Advanced.DONE
    assert stage.hands.done == ["1.1 look"]
    assert (await stage.kinds()).count("call_started") == 2


async def test_a_run_that_somebody_holds_is_busy() -> None:
    stage = Stage()
    await stage.opened()
    await stage.journal.acquire(RUN, worker="two", now=stage.clock.now(), lease=timedelta(seconds=30))

    assert await stage.advance(*LOOK_AND_TELL) is Advanced.BUSY


async def test_a_run_whose_worker_dies_five_times_at_one_step_ends_as_failed() -> None:
    stage = Stage()
    await stage.opened()
    for _ in range(6):
        await stage.journal.acquire(RUN, worker="poor", now=stage.clock.now(), lease=timedelta(seconds=30))
        stage.clock.later(31)

    assert await stage.advance(*LOOK_AND_TELL) is Advanced.DONE
    state = await stage.journal.load(RUN)
    assert state.finished is not None
    assert state.finished.outcome is Outcome.FAILED
    assert "workers died in a row" in state.finished.reason


async def test_a_job_that_wants_no_resuming_ends_as_interrupted() -> None:
    stage = Stage()
    await stage.opened(job=a_job(policy={"on_interrupt": "fail"}))
    await stage.journal.acquire(RUN, worker="dead", now=stage.clock.now(), lease=timedelta(seconds=30))
    stage.clock.later(31)

    assert await stage.advance(*LOOK_AND_TELL) is Advanced.DONE
    state = await stage.journal.load(RUN)
    assert state.finished is not None
    assert state.finished.outcome is Outcome.INTERRUPTED


async def test_a_failure_nobody_foresaw_ends_the_run_with_a_reason() -> None:
    stage = Stage()
    stage.hands.broken = frozenset({"look"})
    await stage.opened()
    engine = stage.engine(*LOOK_AND_TELL)

    assert await engine.advance(RUN) is Advanced.BUSY
    assert await engine.advance(RUN) is Advanced.DONE
    state = await stage.journal.load(RUN)
    assert state.finished is not None
    assert (state.finished.outcome, state.finished.reason) == (Outcome.FAILED, "internal error: ZeroDivisionError")


async def test_iterations_and_tokens_are_ceilings() -> None:
    for limits, reason in (({"iterations": 1}, "iterations"), ({"tokens": 1500}, "tokens")):
        stage = Stage()
        await stage.opened(job=a_job(limits=limits))
        await stage.advance(says("Hm.", call("look"), tokens=1200), says("Never said."))
        ended = (await stage.journal.load(RUN)).finished
        assert ended is not None
        assert (ended.outcome, ended.partial, ended.answer) == (Outcome.BUDGET_EXCEEDED, True, "Hm.")
        assert reason in ended.reason


async def test_a_model_without_a_word_is_no_success() -> None:
    stage = Stage()
    await stage.opened()
    await stage.advance(says("  "), says(""))
    ended = (await stage.journal.load(RUN)).finished
    assert ended is not None
    assert ended.outcome is Outcome.FAILED


async def test_a_blocked_run_ends_before_it_begins() -> None:
    stage = Stage()
    await stage.opened(blocked="no provider is configured")
    assert await stage.advance() is Advanced.DONE
    ended = (await stage.journal.load(RUN)).finished
    assert ended is not None
    assert (ended.outcome, ended.reason) == (Outcome.BLOCKED, "no provider is configured")
    assert "model_call_started" not in await stage.kinds()


async def test_a_run_that_this_machine_cannot_hold_is_blocked_before_it_begins_until_it_can() -> None:
    stage = Stage(hindrance="no confinement is proven here; hunter2-hunter2")
    await stage.opened()
    assert await stage.advance() is Advanced.DONE
    assert await stage.ended() == (Outcome.BLOCKED, "no confinement is proven here; [redacted]")
    assert "context_assembled" not in await stage.kinds()

    stage.hindrance = ""
    state = await stage.journal.load(RUN)
    await stage.journal.append(state, RunRetried(at=stage.clock.now(), attempt=2, by="ann"))
    assert await stage.advance(says("Well.")) is Advanced.DONE
    assert await stage.ended() == (Outcome.DONE, "")


async def test_a_scheduled_run_that_would_be_refused_its_jobs_tools_is_blocked_and_its_schedule_rests() -> None:
    stage = Stage(refused="write is not allowed any more; hunter2-hunter2")
    await stage.opened(origin=Origin.SCHEDULE)
    assert await stage.advance() is Advanced.DONE
    assert await stage.ended() == (Outcome.BLOCKED, "write is not allowed any more; [redacted]")
    state = await stage.journal.load(RUN)
    assert state.finished
    assert state.finished.pauses == "write is not allowed any more; [redacted]"
    assert "context_assembled" not in await stage.kinds()


async def test_a_run_that_somebody_asked_for_lets_no_schedule_rest() -> None:
    stage = Stage(refused="write is not allowed any more")
    await stage.opened(origin=Origin.REQUEST)
    await stage.advance()
    state = await stage.journal.load(RUN)
    assert state.finished
    assert (state.finished.outcome, state.finished.pauses) == (Outcome.BLOCKED, "")


async def test_a_retry_is_a_further_attempt_of_the_same_run_from_its_start() -> None:
    stage = Stage()
    await stage.opened()
    await stage.advance(says(" "), says(""))
    state = await stage.journal.load(RUN)
    await stage.journal.append(state, RunRetried(at=stage.clock.now(), attempt=2, by="ann"))

    assert await stage.advance(says("Better.")) is Advanced.DONE
    state = await stage.journal.load(RUN)
    assert state.finished is not None
    assert (state.attempt, state.finished.answer, state.iteration) == (2, "Better.", 3)


async def test_a_secret_reaches_neither_journal_nor_answer() -> None:
    stage = Stage()
    await stage.opened()
    await stage.advance(says("The password is hunter2-hunter2."))
    replies = [event for event in await stage.facts() if isinstance(event, ModelReplied)]
    assert [reply.reply.text for reply in replies] == ["The password is [redacted]."]


@pytest.mark.parametrize(("said", "kept"), [("Hello.", True), ("It is hunter2-hunter2.", False)])
async def test_what_a_provider_wants_back_is_kept_only_without_a_secret_in_it(said: str, *, kept: bool) -> None:
    stage, raw = Stage(), {"provider": "test", "output": [{"type": "message", "text": said}]}
    await stage.opened()
    await stage.advance(says("Hello.").model_copy(update={"raw": raw}))

    (reply,) = [event.reply for event in await stage.facts() if isinstance(event, ModelReplied)]
    assert reply.raw == (raw if kept else None)


@pytest.mark.parametrize("automation", ["read-only", "workspace-write", "full"])
async def test_every_call_is_adjudicated_before_it_is_started(automation: str) -> None:
    stage = Stage()
    await stage.opened(job=a_job(automation=automation))
    await stage.advance(says("Hm.", call("look"), call("change"), call("run", command="ls")), says("Done."))
    kinds = await stage.kinds()
    assert kinds.index("call_adjudicated") < kinds.index("call_started")
    assert kinds.count("call_adjudicated") == 3
    assert kinds.count("call_finished") == 3
