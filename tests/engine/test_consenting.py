"""Calls that need a person: several at once, edited, stale, asked for in vain, refused again and again."""

from __future__ import annotations

from datetime import datetime

import pytest
from pydantic import JsonValue

from kova_auto.core.approval.levels import AutomationLevel, Decision, Effect
from kova_auto.core.consent import ApprovalDecided, Offer, Standing, Target
from kova_auto.core.event import CallAdjudicated, DeliveryFinished, DeliveryStarted
from kova_auto.core.ids import BlobHash, CallId
from kova_auto.core.job import Job, Outcome
from kova_auto.core.message import ModelReply, ResultStatus
from kova_auto.core.owed import Cause
from kova_auto.core.policy import policy_of_run
from kova_auto.engine.dispatch import Advanced
from tests.engine.worlds import RUN, Stage
from tests.support import a_job, call, says

FIRST, SECOND = CallId("1.1"), CallId("1.2")
TWO = (says("Hm.", call("change", path="a"), call("change", path="b")), says("So be it."))
ONE = (says("Hm.", call("change")), says("So be it."))
OUT = (says("Hm.", call("run", command="make")), says("So be it."))


def suspends(**approval: object) -> Job:
    return a_job(approval={"when_needed": "suspend", "timeout": "1h", **approval}, notify=[{"endpoint": "ci"}])


async def waiting(*replies: ModelReply, job: Job | None = None) -> Stage:
    """Return a stage whose run waits for a person."""
    stage = Stage()
    await stage.opened(job=job or suspends())
    assert await stage.advance(*replies) is Advanced.SUSPENDED
    return stage


async def said(
    stage: Stage,
    call_id: CallId,
    decision: Decision,
    *,
    args: dict[str, JsonValue] | None = None,
    answers: tuple[str, ...] = (),
    remembered: Standing | None = None,
) -> None:
    event = ApprovalDecided(
        at=stage.clock.now(),
        call_id=call_id,
        decision=decision,
        by="ann",
        args=args,
        answers=answers,
        remembered=remembered or Standing(),
    )
    await stage.journal.append(await stage.journal.load(RUN), event)


async def told(stage: Stage, call_id: CallId) -> tuple[ResultStatus, str]:
    result = (await stage.journal.load(RUN)).call(call_id).result
    assert result is not None
    return result.status, result.text


async def test_a_person_is_asked_about_every_call_of_a_reply_at_once() -> None:
    stage = await waiting(*TWO)

    assert [known.call.id for known in (await stage.journal.load(RUN)).pending] == [FIRST, SECOND]


async def test_calls_are_executed_in_the_models_order_whoever_is_answered_first() -> None:
    stage = await waiting(*TWO)
    await said(stage, SECOND, Decision.ONCE)

    assert await stage.advance(*TWO) is Advanced.SUSPENDED
    assert stage.hands.done == []
    await said(stage, FIRST, Decision.ONCE)
    assert await stage.advance(*TWO) is Advanced.DONE
    assert stage.hands.done == ["1.1 change", "1.2 change"]


async def test_one_call_is_allowed_and_the_other_refused() -> None:
    stage = await waiting(*TWO)
    await said(stage, FIRST, Decision.DENY)
    await said(stage, SECOND, Decision.ONCE)

    assert await stage.advance(*TWO) is Advanced.DONE
    assert stage.hands.done == ["1.2 change"]
    assert await stage.statuses() == [ResultStatus.DENIED, ResultStatus.OK]
    assert await stage.ended() == (Outcome.DONE, "")


async def test_a_call_that_was_judged_while_another_waited_is_judged_again_before_it_runs() -> None:
    replies = (says("Hm.", call("change"), call("look")), says("So be it."))
    stage = await waiting(*replies)
    await said(stage, FIRST, Decision.ONCE)

    assert await stage.advance(*replies) is Advanced.DONE
    judged = [event.call_id for event in await stage.facts() if isinstance(event, CallAdjudicated)]
    assert judged == [FIRST, SECOND, SECOND]
    assert stage.hands.done == ["1.1 change", "1.2 look"]


async def test_the_earliest_time_of_several_calls_ends_the_rest() -> None:
    stage = await waiting(*TWO)
    stage.clock.later(3600)

    assert await stage.advance(*TWO) is Advanced.DONE
    assert await stage.statuses() == [ResultStatus.DENIED, ResultStatus.DENIED]
    assert await told(stage, FIRST) == (
        ResultStatus.DENIED,
        "This call needs a person's approval, and it was refused because nobody answered in time.",
    )


async def test_a_second_answer_is_told_who_was_first() -> None:
    stage = await waiting(*ONE)
    await said(stage, FIRST, Decision.DENY)

    with pytest.raises(Exception, match="ann has answered already"):
        await said(stage, FIRST, Decision.ONCE)


async def test_edited_arguments_are_judged_anew_and_the_model_is_told_of_them() -> None:
    stage = await waiting(*ONE)
    await said(stage, FIRST, Decision.ONCE, args={"path": "other"})

    assert await stage.advance(*ONE) is Advanced.DONE
    state = await stage.journal.load(RUN)
    assert state.call(FIRST).call.args == {"path": "other"}
    assert sum(isinstance(event, CallAdjudicated) for event in await stage.facts()) == 2
    status, text = await told(stage, FIRST)
    assert (status, text.splitlines()[0]) == (
        ResultStatus.OK,
        '[ann allowed this call with other arguments: {"path": "other"}]',
    )


async def test_what_a_person_edited_into_a_call_that_may_not_be_is_refused() -> None:
    stage = await waiting(*ONE)
    await said(stage, FIRST, Decision.ONCE, args={"path": 7})

    assert await stage.advance(*ONE) is Advanced.DONE
    assert stage.hands.done == []
    assert await told(stage, FIRST) == (ResultStatus.ERROR, "wanted text")


async def test_a_write_whose_file_has_changed_since_the_request_is_stale() -> None:
    stage = await waiting(*ONE)
    stage.hands.there = Target(path="/ws/a.txt", content=BlobHash("other"))
    await said(stage, FIRST, Decision.ONCE)

    assert await stage.advance(*ONE) is Advanced.DONE
    assert stage.hands.done == []
    status, text = await told(stage, FIRST)
    assert (status, text.split(" has changed")[0]) == (ResultStatus.STALE, "Stale: /ws/a.txt")
    assert await stage.ended() == (Outcome.DONE, "")


async def test_an_approval_says_what_would_be_remembered_and_it_counts_from_then_on() -> None:
    kept = Standing(write_roots=("/srv/lib",))
    stage = Stage(offer=Offer(kept, proposed=kept))
    await stage.opened(job=suspends().model_copy(update={"automation": AutomationLevel.WORKSPACE_WRITE}))
    await stage.advance(*OUT)
    asked = (await stage.journal.load(RUN)).call(FIRST).approval
    assert asked is not None
    assert (asked.offer, asked.proposed) == (kept, kept)

    await said(stage, FIRST, Decision.REMEMBER, remembered=kept)
    assert policy_of_run(await stage.journal.load(RUN)).write_roots == ("/srv/lib",)


async def _refused_by(stage: Stage, endpoint: str) -> None:
    """Let an endpoint answer a request with an error."""
    state = await stage.journal.load(RUN)
    key = next(key for key, owed in state.deliveries.items() if owed.endpoint == endpoint and owed.status == "pending")
    now: datetime = stage.clock.now()
    state = await stage.journal.append(state, DeliveryStarted(at=now, delivery_id=key, attempt=1))
    failed = DeliveryFinished(
        at=now, delivery_id=key, attempt=1, result="server_error", status="waiting", detail="HTTP 500"
    )
    await stage.journal.append(state, failed)


async def test_where_nobody_can_be_asked_the_call_is_refused_at_once_and_others_are_told() -> None:
    stage = await waiting(*ONE, job=suspends(notify=["desk"]))
    await _refused_by(stage, "desk")

    assert await stage.advance(*ONE) is Advanced.DONE
    why = "nobody could be asked: desk: HTTP 500."
    refused = f"This call needs a person's approval, and it was refused because {why}"
    assert await told(stage, FIRST) == (ResultStatus.DENIED, refused)
    owed = (await stage.journal.load(RUN)).deliveries.values()
    assert [(duty.endpoint, duty.cause) for duty in owed] == [
        ("desk", Cause.APPROVAL),
        ("ci", Cause.UNREACHED),
        ("ci", Cause.OUTCOME),
    ]


async def test_a_job_may_wait_on_where_nobody_could_be_asked() -> None:
    stage = await waiting(*ONE, job=suspends(notify=["desk"], on_unreachable="keep"))
    await _refused_by(stage, "desk")

    assert await stage.advance(*ONE) is Advanced.SUSPENDED
    owed = (await stage.journal.load(RUN)).deliveries.values()
    assert [duty.cause for duty in owed] == [Cause.APPROVAL, Cause.UNREACHED]


async def test_one_endpoint_that_has_not_been_tried_yet_is_hope_enough() -> None:
    stage = await waiting(*ONE, job=suspends(notify=["desk", "phone"]))
    await _refused_by(stage, "desk")

    assert await stage.advance(*ONE) is Advanced.SUSPENDED


async def test_a_question_waits_for_its_answers_where_the_job_says_so() -> None:
    replies = (says("Hm.", call("ask", questions=[{"title": "Which?"}])), says("Fine."))
    stage = Stage()
    stage.hands.effects = {"ask": Effect.QUESTION}
    await stage.opened(job=a_job(approval={"questions": "suspend", "timeout": "1h"}))
    assert await stage.advance(*replies) is Advanced.SUSPENDED

    await said(stage, FIRST, Decision.ONCE, answers=("the second",))
    assert await stage.advance(*replies) is Advanced.DONE
    assert stage.hands.answers == [("the second",)]


async def test_a_question_that_nobody_answers_in_time_is_answered_that_nobody_is_there() -> None:
    replies = (says("Hm.", call("ask", questions=[{"title": "Which?"}])), says("Fine."))
    stage = Stage()
    stage.hands.effects = {"ask": Effect.QUESTION}
    await stage.opened(job=a_job(approval={"questions": "suspend", "timeout": "1h"}))
    await stage.advance(*replies)
    stage.clock.later(3600)

    assert await stage.advance(*replies) is Advanced.DONE
    assert stage.hands.answers == [()]
    assert await stage.statuses() == [ResultStatus.OK]


async def test_the_same_call_refused_three_times_ends_the_run() -> None:
    refused = says("Again.", call("run", command="rm -r x"))
    stage = Stage()
    await stage.opened(job=a_job(limits={"denials": 50}))

    assert await stage.advance(refused, refused, refused, refused) is Advanced.DONE
    assert await stage.ended() == (Outcome.BLOCKED, "the same call was refused 3 times")


async def test_calls_that_differ_may_be_refused_more_often() -> None:
    refused = [says("Again.", call("run", command=f"rm -r {name}")) for name in "abcd"]
    stage = Stage()
    await stage.opened(job=a_job(limits={"denials": 50}))

    assert await stage.advance(*refused, says("I give up.")) is Advanced.DONE
    assert await stage.ended() == (Outcome.DONE, "")
