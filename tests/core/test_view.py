"""The rows that a run's facts give: where to look, in words that any database keeps."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import pytest

from kova_auto.core.approval.levels import ApprovalLevel, Decision, Ruling
from kova_auto.core.event import DeliveryFinished, DeliveryStarted, Event
from kova_auto.core.ids import EndpointName, blob_hash, delivery_id
from kova_auto.core.job import Outcome
from kova_auto.core.message import ResultStatus
from kova_auto.core.run import Execution
from kova_auto.core.view import ApprovalRow, DeliveryRow, RunRow, approval_rows, delivery_rows, level_of, run_row
from tests.core.facts import (
    FIRST,
    SECOND,
    acquired,
    answered,
    asked,
    asks_for,
    begun,
    broke,
    decided,
    ended,
    judged,
    ran,
    result,
    retried,
    run_of,
    stop,
)
from tests.support import a_job, at, says

NOW = at("06:00:02")
SUSPENDS = a_job(approval={"when_needed": "suspend", "notify": ["desk"]}, notify=[{"endpoint": "ci"}])
ASKED = [*asks_for("bash"), judged(Ruling.ASK), asked(expires=at("07:00:00"))]
QUEUED = RunRow(
    run_id="nightly@20261201T060000Z",
    job="nightly",
    origin="schedule",
    nominal_at=None,
    requested_at=at("06:00:00"),
    started_at=None,
    finished_at=None,
    execution=Execution.QUEUED,
    outcome=None,
    reason="",
    partial=False,
    scripted=False,
    staged=False,
    model="test/model",
    mode="agent",
    level="read-only",
    workspace="/srv/app",
    attempt=1,
    iterations=0,
    calls=0,
    denied=0,
    unknown=0,
    tokens=0,
    cost_usd=0.0,
    answer_excerpt="",
    answer_hash="",
    wake_at=None,
    resting=False,
    fault="",
    pauses="",
    holds="",
    waits_for="",
    kept="",
    parent="",
    root="",
    agent="",
    reserved_tokens=0,
    reserved_usd=0.0,
)


def test_a_run_that_was_only_asked_for_has_its_row() -> None:
    assert run_row(run_of()) == QUEUED


def test_a_finished_runs_row_says_what_came_of_it() -> None:
    refused = [judged(Ruling.DENY, SECOND), result(ResultStatus.DENIED, SECOND)]
    end = ended(Outcome.BUDGET_EXCEEDED, "So far.").model_copy(update={"reason": "iterations", "partial": True})

    assert run_row(run_of(asks_for("a", "b"), ran(), refused, end, scripted=True, staged=True)) == QUEUED.model_copy(
        update={
            "started_at": NOW,
            "finished_at": NOW,
            "execution": Execution.FINISHED,
            "outcome": Outcome.BUDGET_EXCEEDED,
            "reason": "iterations",
            "partial": True,
            "scripted": True,
            "staged": True,
            "iterations": 1,
            "calls": 2,
            "denied": 1,
            "tokens": 10,
            "cost_usd": 0.001,
            "answer_excerpt": "So far.",
            "answer_hash": blob_hash(b"So far."),
            "resting": True,
        }
    )


@pytest.mark.parametrize(
    ("facts", "wake_at", "resting"),
    [
        pytest.param([], None, False, id="queued"),
        pytest.param(begun(), None, False, id="at work"),
        pytest.param(ASKED, at("07:00:00"), True, id="waiting for a person, or the time"),
        pytest.param([*asks_for("bash"), judged(Ruling.ASK), asked()], None, True, id="waiting for a person"),
        pytest.param([*ASKED, decided(Decision.ONCE)], None, False, id="answered"),
        pytest.param([*ASKED, stop()], None, False, id="stopped while it waits"),
        pytest.param([*begun(), *broke(retry_at=at("06:05:00"))], at("06:05:00"), True, id="waiting for the model"),
        pytest.param([*begun(), *answered(says("Well.")), ended()], None, True, id="over"),
        pytest.param(
            [*begun(), *answered(says("Well.")), ended(), retried(not_before=at("08:00:00"))],
            at("08:00:00"),
            True,
            id="to be tried again later",
        ),
    ],
)
def test_a_row_says_when_to_look_again(facts: Sequence[Event], wake_at: datetime | None, resting: bool) -> None:
    row = run_row(run_of(facts, job=SUSPENDS))

    assert (row.wake_at, row.resting) == (wake_at, resting)


def test_only_the_replies_of_this_attempt_are_its_iterations() -> None:
    state = run_of(asks_for("a"), ran(), answered(says("Well."), 2), ended(), retried(), acquired(2))

    assert (run_row(state).attempt, run_row(state).iterations, run_row(state).tokens) == (2, 0, 20)


def test_an_attended_run_is_under_its_level_and_another_under_its_jobs() -> None:
    assert level_of(run_of(level=ApprovalLevel.AUTO_EDIT)) == "auto-edit"
    assert level_of(run_of(job=a_job(automation="full"))) == "full"


def test_a_long_answer_is_shown_in_part_and_hashed_whole() -> None:
    row = run_row(run_of(begun(), answered(says("Well.")), ended(answer="x" * 501)))

    assert (row.answer_excerpt, row.answer_hash) == ("x" * 500, blob_hash(b"x" * 501))


def test_a_call_that_needed_a_person_has_a_row() -> None:
    waiting = ApprovalRow(
        run_id="nightly@20261201T060000Z",
        call_id=FIRST,
        job="nightly",
        tool="bash",
        reason="because",
        requested_at=NOW,
        expires_at=at("07:00:00"),
        decision=None,
        decided_by=None,
        decided_at=None,
        open=True,
    )
    answer = {"decision": "remember", "decided_by": "ada", "decided_at": NOW, "open": False}

    assert approval_rows(run_of(ASKED)) == (waiting,)
    assert approval_rows(run_of(ASKED, decided(Decision.REMEMBER))) == (waiting.model_copy(update=answer),)
    assert approval_rows(run_of(ASKED, result(ResultStatus.CANCELLED))) == (waiting.model_copy(update={"open": False}),)
    assert approval_rows(run_of(asks_for("bash"), ran())) == ()


def test_a_duty_has_a_row() -> None:
    key = delivery_id(run_of().run_id, 6, EndpointName("ci"))
    owed = DeliveryRow(
        delivery_id=key,
        run_id="nightly@20261201T060000Z",
        job="nightly",
        endpoint="ci",
        cause="outcome",
        cause_seq=6,
        owed_at=NOW,
        status="pending",
        attempts=0,
        in_flight=False,
        next_at=None,
        expires_at=None,
        http_status=None,
        result="",
        detail="",
    )
    begins = DeliveryStarted(at=NOW, delivery_id=key, attempt=1)
    fails = DeliveryFinished(
        at=NOW,
        delivery_id=key,
        attempt=1,
        result="server_error",
        status="waiting",
        http_status=503,
        detail="busy",
        next_at=at("06:05:00"),
    )
    told = {"result": "server_error", "status": "waiting", "http_status": 503, "detail": "busy", "attempts": 1}
    over = [*begun(), *answered(says("Well.")), ended()]

    assert delivery_rows(run_of(over, job=SUSPENDS)) == (owed,)
    assert delivery_rows(run_of(over, begins, job=SUSPENDS)) == (
        owed.model_copy(update={"attempts": 1, "in_flight": True}),
    )
    assert delivery_rows(run_of(over, begins, fails, job=SUSPENDS)) == (
        owed.model_copy(update={**told, "next_at": at("06:05:00")}),
    )


def test_no_row_holds_what_a_database_cannot_keep() -> None:
    odd = decided(Decision.DENY, by="a\0da")
    refused = result(ResultStatus.DENIED)
    end = ended(answer="All\0well.").model_copy(update={"reason": "why\0not"})
    state = run_of(asks_for("b\0ash"), judged(Ruling.ASK), asked(), odd, refused, answered(says("Well."), 2), end)
    row, (approval,) = run_row(state), approval_rows(state)

    assert (row.answer_excerpt, row.reason) == ("All\ufffdwell.", "why\ufffdnot")
    assert (approval.tool, approval.decided_by) == ("b\ufffdash", "a\ufffdda")
