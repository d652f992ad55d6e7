"""Which ends of an attempt are followed by another, and when: tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

import pytest

from kova_auto.core.approval.levels import Ruling
from kova_auto.core.budget import money_left
from kova_auto.core.errors import IllegalEventError
from kova_auto.core.event import Event, ModelCallFailed, RunRetried
from kova_auto.core.fault import Fault
from kova_auto.core.job import Job, Outcome
from kova_auto.core.retrying import BY_POLICY, begins_again_at, wait_s
from kova_auto.core.run import Execution, apply
from kova_auto.core.state import RunState
from kova_auto.core.step import next_step
from kova_auto.core.steps import AssembleContext, AwaitUntil, BeginAgain, Finish
from kova_auto.core.stop_reason import StopReason
from kova_auto.core.view import run_row
from tests.core.facts import (
    NOW,
    acquired,
    answered,
    asks_for,
    begun,
    calling,
    ended,
    judged,
    ran,
    retried,
    run_of,
    stop,
)
from tests.support import a_job, at, says

ALL = ("rate_limit", "transient", "failed", "timed_out")
LATE = at("07:00:30")


def patient(attempts: int = 2, on: Sequence[str] = ALL, **policy: object) -> Job:
    return a_job(policy={"retry": {"attempts": attempts, "on": on}, **policy})


def again(attempt: int = 2, ended: Outcome = Outcome.FAILED, **more: object) -> RunRetried:
    return RunRetried.model_validate(
        {"at": NOW, "attempt": attempt, "by": BY_POLICY, "not_before": LATE, "ended": ended, "reason": "busy", **more}
    )


def fails_for_good(fault: Fault | None) -> list[Event]:
    why = {"error": "ModelUnavailable", "message": "no"}
    return [*begun(), calling(), ModelCallFailed(at=NOW, iteration=1, retryable=False, fault=fault, **why)]


def going_on(attempts: int) -> RunState:
    """Return a run whose policy has begun so many further attempts."""
    further: list[Event] = []
    for attempt in range(2, attempts + 2):
        further += [again(attempt), acquired(attempt)]
    return run_of(begun(), further, job=patient(20))


@pytest.mark.parametrize(
    ("outcome", "fault", "on", "covered"),
    [
        (Outcome.FAILED, Fault.RATE_LIMITED, ["rate_limit"], True),
        (Outcome.FAILED, Fault.RATE_LIMITED, ["transient", "failed"], False),
        (Outcome.FAILED, Fault.OVERLOADED, ["transient"], True),
        (Outcome.FAILED, Fault.NETWORK, ["transient"], True),
        (Outcome.FAILED, Fault.NETWORK, ["rate_limit", "failed", "timed_out"], False),
        (Outcome.FAILED, None, ["failed"], True),
        (Outcome.FAILED, Fault.OVERFLOW, ["failed"], True),
        (Outcome.FAILED, None, ["rate_limit", "transient", "timed_out"], False),
        (Outcome.TIMED_OUT, None, ["timed_out"], True),
        (Outcome.TIMED_OUT, None, ["failed"], False),
        *((Outcome.FAILED, fault, ALL, False) for fault in (Fault.AUTH, Fault.SPENT, Fault.NOT_FOUND, Fault.INVALID)),
        *((Outcome.FAILED, fault, ALL, False) for fault in (Fault.SETTINGS, Fault.SCRIPT)),
        *((outcome, None, ALL, False) for outcome in Outcome if outcome not in (Outcome.FAILED, Outcome.TIMED_OUT)),
    ],
)
def test_only_what_the_policy_names_and_another_attempt_may_change_is_covered(
    outcome: Outcome, fault: Fault | None, on: Sequence[str], covered: bool
) -> None:
    state = run_of(begun(), job=patient(on=on))
    assert (begins_again_at(state, outcome, fault, NOW) is not None) is covered


def test_a_model_that_refused_is_not_asked_again() -> None:
    refused = says("").model_copy(update={"stop": StopReason.REFUSED})
    assert next_step(run_of(begun(), answered(refused), job=patient()), NOW) == Finish(
        Outcome.FAILED, "", "the model refused"
    )


def test_a_run_that_workers_die_of_is_not_begun_again() -> None:
    deaths = [acquired(1), *(acquired(epoch, broken=True) for epoch in range(2, 7))]
    assert isinstance(next_step(run_of(deaths, job=patient()), NOW), Finish)


def test_an_end_that_is_covered_begins_the_next_attempt_instead() -> None:
    state = run_of(fails_for_good(Fault.RATE_LIMITED), job=patient())
    step = next_step(state, NOW)
    assert isinstance(step, BeginAgain)
    assert step.end == Finish(Outcome.FAILED, reason="ModelUnavailable: no", fault=Fault.RATE_LIMITED)
    assert timedelta(seconds=15) <= step.not_before - NOW <= timedelta(seconds=30)


def test_without_a_policy_every_end_is_the_runs() -> None:
    assert isinstance(next_step(run_of(fails_for_good(Fault.RATE_LIMITED)), NOW), Finish)


@pytest.mark.parametrize(("attempts", "longest_s"), [(0, 30), (1, 60), (2, 120), (4, 480), (5, 600), (19, 600)])
def test_each_wait_may_be_twice_as_long_as_the_one_before_up_to_the_longest(attempts: int, longest_s: float) -> None:
    state = going_on(attempts)
    assert longest_s / 2 <= wait_s(state) <= longest_s
    assert wait_s(state) == wait_s(going_on(attempts))


def test_runs_that_failed_together_wait_differently() -> None:
    waits = {wait_s(run_of(job=patient(), run_id=f"nightly@20261201T06{minute:02}00Z")) for minute in range(20)}
    assert len(waits) == 20


@pytest.mark.parametrize("attempts", [0, 1, 2, 3])
def test_no_more_attempts_are_begun_than_the_policy_allows(attempts: int) -> None:
    state = run_of(begun(), [again(2 + n) for n in range(attempts)], job=patient(2))
    assert (begins_again_at(state, Outcome.FAILED, None, NOW) is not None) is (attempts < 2)


def test_an_attempt_that_somebody_asked_for_has_the_policys_attempts_before_it_again() -> None:
    state = run_of(begun(), again(2), again(3), acquired(2), ended(Outcome.FAILED), retried(4), job=patient(2))
    assert (state.attempt, state.retries) == (4, 0)
    assert begins_again_at(state, Outcome.FAILED, None, NOW) is not None


@pytest.mark.parametrize(
    ("next_at", "overlap", "begins"),
    [
        (None, "skip", True),
        ("06:00:10", "skip", False),
        ("06:00:10", "allow", False),
        ("06:00:10", "queue", True),
        ("06:00:33", "skip", True),
        ("05:59:00", "skip", False),
    ],
)
def test_an_instant_that_comes_first_is_the_next_attempt_unless_instants_queue(
    next_at: str | None, overlap: str, begins: bool
) -> None:
    state = run_of(begun(), job=patient(overlap=overlap), next_at=at(next_at) if next_at else None)
    assert (begins_again_at(state, Outcome.FAILED, None, NOW) is not None) is begins


def test_between_two_attempts_a_run_waits_in_the_queue_and_is_owed_nothing() -> None:
    state = run_of(
        begun(), again(), job=patient().model_copy(update={"notify": a_job(notify=[{"endpoint": "ci"}]).notify})
    )
    row = run_row(state)
    assert next_step(state, NOW) == AwaitUntil(LATE)
    assert next_step(state, LATE) == AssembleContext()
    assert (row.execution, row.wake_at, row.resting, row.outcome) == (Execution.QUEUED, LATE, True, None)
    assert (row.reason, row.attempt, state.deliveries) == ("attempt 1 ended as failed: busy", 2, {})


def test_who_waits_for_the_next_attempt_can_be_cancelled() -> None:
    assert next_step(run_of(begun(), again(), stop(), job=patient()), NOW) == Finish(Outcome.CANCELLED, reason="enough")


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ([*begun(), ended()], "the run has finished"),
        ([*begun(), stop()], "it is being ended as cancelled"),
        ([*asks_for("bash"), judged(Ruling.ALLOW)], "a call has no result yet"),
    ],
)
def test_an_attempt_of_the_policy_cannot_follow_an_end_a_wish_or_an_open_call(facts: Sequence[Event], why: str) -> None:
    with pytest.raises(IllegalEventError, match=why):
        apply(run_of(facts), again())


def test_a_person_cannot_begin_an_attempt_of_a_run_that_goes_on() -> None:
    with pytest.raises(IllegalEventError, match="the run has not finished"):
        apply(run_of(begun()), retried())


def test_ceilings_in_tokens_and_money_hold_for_the_policys_attempts_together_and_begin_anew_for_a_persons() -> None:
    limits: Mapping[str, object] = {"cost_usd": 1.0, "cost_usd_per_day": 9.0}
    cost = says("Hm.", cost_usd=0.4)
    once = run_of(begun(), answered(cost), again(), job=a_job(limits=limits))
    twice = run_of(begun(), answered(cost), again(), acquired(2), answered(cost, 2), again(3), job=a_job(limits=limits))
    asked = apply(apply(twice, ended(Outcome.FAILED)), retried(4))
    assert [round(money_left(state).left, 2) for state in (once, twice, asked)] == [0.6, 0.2, 1.0]
    assert (once.day_before_usd, twice.day_before_usd, asked.day_before_usd) == (0.0, 0.0, 0.8)


def test_a_workspace_is_kept_from_attempt_to_attempt() -> None:
    job = a_job(automation="workspace-write", policy={"retry": {"attempts": 1}})
    state = run_of(asks_for("bash"), ran(), again(), job=job)
    assert (state.holds, run_row(state).holds) == (True, job.workspace)
