"""What a run does next, as a table: the facts so far, now, and the step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from kova_auto.core.approval.levels import ApprovalLevel, Decision, Ruling, Verdict
from kova_auto.core.event import Event
from kova_auto.core.job import Outcome
from kova_auto.core.message import ModelReply, ResultStatus
from kova_auto.core.settling import ARGUMENTS
from kova_auto.core.step import DEATHS, next_step
from kova_auto.core.steps import (
    Adjudicate,
    AnswerForNobody,
    AskPerson,
    AssembleContext,
    AwaitApproval,
    AwaitUntil,
    CallModel,
    Execute,
    Finish,
    Recover,
    Refuse,
    Rest,
    Step,
)
from kova_auto.core.stop_reason import StopReason
from tests.core.facts import (
    FIRST,
    SECOND,
    acquired,
    answered,
    asked,
    asks_for,
    assembled,
    begun,
    broke,
    decided,
    ended,
    judged,
    ran,
    result,
    retried,
    run_of,
    started,
    stop,
)
from tests.support import a_job, at, call, says

SUSPENDS = a_job(approval={"when_needed": "suspend"})
STOPPED = "the run was ended before this call: enough"
BAD_ARGUMENTS = Verdict(ruling=Ruling.DENY, reason="wanted text", rule=ARGUMENTS)
DYING = [acquired(1), *(acquired(epoch, broken=True) for epoch in range(2, DEATHS + 2))]


def cut(stop_reason: StopReason, reply: ModelReply | None = None) -> list[Event]:
    """Return a first reply that ended otherwise than by its own will."""
    said = reply or says("So far")
    return [*begun(), *answered(said.model_copy(update={"stop": stop_reason}))]


@pytest.mark.parametrize(
    ("facts", "step"),
    [
        pytest.param([], AssembleContext(), id="asked for"),
        pytest.param([acquired()], AssembleContext(), id="taken"),
        pytest.param(begun(), CallModel(1, "test/model"), id="context is there"),
        pytest.param([*begun(), acquired(2)], CallModel(1, "test/model"), id="context is there, worker is new"),
        pytest.param(asks_for("bash"), Adjudicate(FIRST), id="a call is open"),
        pytest.param([*asks_for("bash"), judged(Ruling.ALLOW)], Execute(FIRST), id="allowed"),
        pytest.param([*asks_for("bash"), judged(Ruling.DENY)], Refuse(FIRST, "because"), id="denied"),
        pytest.param(
            [*asks_for("bash"), judged(Ruling.DENY, verdict=BAD_ARGUMENTS)],
            Refuse(FIRST, "wanted text", ResultStatus.ERROR),
            id="wrong arguments",
        ),
        pytest.param([*asks_for("bash"), judged(Ruling.ASK)], Refuse(FIRST, "because"), id="nobody may be asked"),
        pytest.param([*asks_for("a", "b"), *ran()], Adjudicate(SECOND), id="one call after the other"),
        pytest.param(
            [*asks_for("a", "b"), *ran(), *ran(SECOND)], CallModel(2, "test/model"), id="all calls are settled"
        ),
        pytest.param(
            [*asks_for("bash"), judged(Ruling.ALLOW), started(), acquired(2)], Recover(FIRST), id="a call was cut off"
        ),
        pytest.param([*begun(), *answered(says("All well."))], Finish(Outcome.DONE, "All well."), id="the last word"),
        pytest.param([*begun(), *answered(says(" \n"))], CallModel(2, "test/model"), id="no word at all"),
        pytest.param(
            [*begun(), *answered(says(" \n")), *answered(says(""), 2)],
            Finish(Outcome.FAILED, "", "the model ended its turn without a word, twice"),
            id="no word again",
        ),
        pytest.param(
            [*asks_for("nothing"), *ran(concludes="nothing_to_report"), *answered(says(""), 2)],
            Finish(Outcome.NOTHING_TO_REPORT, ""),
            id="a tool said how it ends",
        ),
        pytest.param(cut(StopReason.LENGTH), CallModel(2, "test/model"), id="the reply was cut off"),
        pytest.param(cut(StopReason.PAUSED), CallModel(2, "test/model"), id="the provider paused"),
        pytest.param(cut(StopReason.REFUSED), Finish(Outcome.FAILED, "", "the model refused"), id="the model refused"),
        pytest.param(
            [*cut(StopReason.REFUSED, says("No.", call("bash"))), judged(Ruling.DENY), result(ResultStatus.DENIED)],
            Finish(Outcome.FAILED, "", "the model refused"),
            id="the model refused in a call",
        ),
        pytest.param([*begun(), *broke()], CallModel(1, "test/model"), id="the model failed once"),
        pytest.param(
            [*begun(), *broke(retry_at=at("06:00:02"))],
            CallModel(1, "test/model"),
            id="the model may be asked again now",
        ),
        pytest.param(
            [*begun(), *broke(retry_at=at("06:00:03"))], AwaitUntil(at("06:00:03")), id="the model is to be asked later"
        ),
        pytest.param(
            [*begun(), *broke(), *broke(retryable=False)],
            Finish(Outcome.FAILED, "", "ModelUnavailable: busy"),
            id="the model is given up",
        ),
        pytest.param(
            [*asks_for("bash"), *ran(), *broke(retryable=False)],
            Finish(Outcome.FAILED, "Let me see.", "ModelUnavailable: busy", partial=True),
            id="the model will never answer",
        ),
        pytest.param([stop()], Finish(Outcome.CANCELLED, reason="enough"), id="stopped before it began"),
        pytest.param(
            [*asks_for("bash"), *ran(), stop()],
            Finish(Outcome.CANCELLED, "Let me see.", "enough", partial=True),
            id="stopped between two replies",
        ),
        pytest.param(
            [*asks_for("a", "b"), stop()], Refuse(FIRST, STOPPED, ResultStatus.CANCELLED), id="stopped before a call"
        ),
        pytest.param(
            [*asks_for("a", "b"), *ran(), judged(Ruling.ALLOW, SECOND), stop()],
            Refuse(SECOND, STOPPED, ResultStatus.CANCELLED),
            id="stopped between two calls",
        ),
        pytest.param(
            [*asks_for("bash"), judged(Ruling.ALLOW), started(), stop()],
            Recover(FIRST, replay=False),
            id="stopped in a call",
        ),
        pytest.param(DYING[:-1], AssembleContext(), id="workers died, one fewer than too many"),
        pytest.param(
            DYING,
            Finish(Outcome.FAILED, reason="5 workers died in a row, and no call was finished"),
            id="too many workers died",
        ),
        pytest.param([*begun(), *answered(says("All well.")), ended()], Rest(), id="over"),
        pytest.param([*begun(), *answered(says("Hm.")), ended(), retried()], AssembleContext(), id="another attempt"),
        pytest.param(
            [*begun(), *answered(says("Hm.")), ended(), retried(), acquired(2), assembled()],
            CallModel(2, "test/model"),
            id="another attempt, its context is there",
        ),
        pytest.param(
            [*begun(), *answered(says("Hm.")), ended(), retried(not_before=at("07:00:00"))],
            AwaitUntil(at("07:00:00")),
            id="another attempt, later",
        ),
    ],
)
def test_the_next_step_follows_from_the_facts(facts: Sequence[Event], step: Step) -> None:
    assert next_step(run_of(facts), at("06:00:02")) == step


ASKED_UNTIL_SEVEN = [*asks_for("bash"), judged(Ruling.ASK), asked(expires=at("07:00:00"))]
ASKED_FOR_EVER = [*asks_for("bash"), judged(Ruling.ASK), asked()]


@pytest.mark.parametrize(
    ("facts", "now", "step"),
    [
        ([*asks_for("bash"), judged(Ruling.ASK)], "06:00:02", AskPerson(FIRST)),
        (ASKED_UNTIL_SEVEN, "06:00:02", AwaitApproval(FIRST, at("07:00:00"))),
        (ASKED_UNTIL_SEVEN, "06:59:59.999999", AwaitApproval(FIRST, at("07:00:00"))),
        (ASKED_UNTIL_SEVEN, "07:00:00", AnswerForNobody(FIRST, "timeout", "nobody answered in time")),
        (ASKED_UNTIL_SEVEN, "23:00:00", AnswerForNobody(FIRST, "timeout", "nobody answered in time")),
        (ASKED_FOR_EVER, "23:00:00", AwaitApproval(FIRST, None)),
        ([*ASKED_UNTIL_SEVEN, decided(Decision.ONCE)], "06:00:02", Execute(FIRST)),
        ([*ASKED_UNTIL_SEVEN, decided(Decision.REMEMBER)], "06:00:02", Execute(FIRST)),
        (
            [*ASKED_UNTIL_SEVEN, decided(Decision.DENY)],
            "06:00:02",
            Refuse(FIRST, "ada refused this call. Do not repeat it unchanged."),
        ),
        (
            [*ASKED_UNTIL_SEVEN, decided(Decision.DENY, note="not today")],
            "06:00:02",
            Refuse(FIRST, "ada refused this call: not today. Do not repeat it unchanged."),
        ),
        ([*ASKED_UNTIL_SEVEN, stop()], "06:00:02", Refuse(FIRST, STOPPED, ResultStatus.CANCELLED)),
        ([*ASKED_UNTIL_SEVEN, acquired(2)], "06:00:02", AwaitApproval(FIRST, at("07:00:00"))),
    ],
)
def test_a_call_that_needs_a_person_waits_for_the_answer_or_the_time(
    facts: Sequence[Event], now: str, step: Step
) -> None:
    assert next_step(run_of(facts, job=SUSPENDS), at(now)) == step


@pytest.mark.parametrize("when_needed", ["deny", "suspend"])
def test_at_an_attended_run_somebody_is_there_to_be_asked(when_needed: str) -> None:
    job = a_job(approval={"when_needed": when_needed})
    state = run_of(asks_for("bash"), judged(Ruling.ASK), job=job, level=ApprovalLevel.ASK)

    assert next_step(state, at("06:00:02")) == AskPerson(FIRST)


def test_an_instant_that_has_come_is_waited_for_no_more() -> None:
    failed = run_of(begun(), broke(retry_at=at("06:00:30")))
    again = run_of(begun(), answered(says("Hm.")), ended(), retried(not_before=at("06:00:30")))

    assert next_step(failed, at("06:00:30")) == CallModel(1, "test/model")
    assert next_step(again, at("06:00:30")) == AssembleContext()


def test_a_blocked_run_ends_before_it_begins() -> None:
    blocked = {"blocked": "no provider is configured"}

    assert next_step(run_of(**blocked), at("06:00:02")) == Finish(Outcome.BLOCKED, reason="no provider is configured")
    assert next_step(run_of(stop(), **blocked), at("06:00:02")) == Finish(Outcome.CANCELLED, reason="enough")


@pytest.mark.parametrize(
    ("limits", "facts", "now", "step"),
    [
        pytest.param(
            {"timeout": "1m"},
            [*asks_for("bash"), judged(Ruling.ALLOW)],
            "06:01:02",
            Refuse(
                FIRST,
                "the run was ended before this call: its limit of 1m running time is reached",
                ResultStatus.CANCELLED,
            ),
            id="a call that comes too late is not made",
        ),
        pytest.param(
            {"timeout": "1m"},
            [*asks_for("bash"), *ran()],
            "06:01:02",
            Finish(Outcome.TIMED_OUT, "Let me see.", "its limit of 1m running time is reached", partial=True),
            id="running time",
        ),
        pytest.param(
            {"denials": 1},
            [*asks_for("a", "b"), judged(Ruling.DENY), result(ResultStatus.DENIED)],
            "06:00:02",
            Refuse(
                SECOND,
                "the run was ended before this call: 1 calls were refused (limits.denials = 1)",
                ResultStatus.CANCELLED,
            ),
            id="the other calls of the reply",
        ),
        pytest.param(
            {"iterations": 1},
            [*asks_for("bash"), *ran()],
            "06:00:02",
            Finish(Outcome.BUDGET_EXCEEDED, "Let me see.", "limits.iterations = 1 is reached", partial=True),
            id="iterations",
        ),
        pytest.param(
            {"iterations": 1},
            [*begun(), *answered(says("All well."))],
            "06:00:02",
            Finish(Outcome.DONE, "All well."),
            id="the last word came within the limit",
        ),
        pytest.param({"iterations": 1}, asks_for("bash"), "06:00:02", Adjudicate(FIRST), id="calls are settled first"),
    ],
)
def test_a_ceiling_ends_the_run_as_what_it_is(
    limits: Mapping[str, object], facts: Sequence[Event], now: str, step: Step
) -> None:
    assert next_step(run_of(facts, job=a_job(limits=limits)), at(now)) == step


@pytest.mark.parametrize("facts", [ASKED_UNTIL_SEVEN, [*ASKED_UNTIL_SEVEN, acquired(2)]])
def test_waiting_for_a_person_uses_no_running_time(facts: Sequence[Event]) -> None:
    job = a_job(approval={"when_needed": "suspend"}, limits={"timeout": "1m"})

    assert next_step(run_of(facts, job=job), at("06:59:00")) == AwaitApproval(FIRST, at("07:00:00"))


def test_waiting_for_the_model_uses_no_running_time() -> None:
    state = run_of(begun(), broke(retry_at=at("07:00:00")), job=a_job(limits={"timeout": "1m"}))

    assert next_step(state, at("06:59:00")) == AwaitUntil(at("07:00:00"))
