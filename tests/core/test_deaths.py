"""Workers that die: counted until a call is finished, so that no run takes the service down for ever."""

from __future__ import annotations

import pytest

from kova_auto.core.approval.levels import Decision, Ruling
from kova_auto.core.event import Event
from kova_auto.core.ids import call_id
from kova_auto.core.job import Outcome
from kova_auto.core.message import ResultStatus
from kova_auto.core.settling import NOBODY
from kova_auto.core.step import DEATHS, next_step
from kova_auto.core.steps import Finish, Recover, Refuse
from tests.core.facts import (
    FIRST,
    NOW,
    SECOND,
    acquired,
    answered,
    asked,
    asks_for,
    assembled,
    begun,
    decided,
    judged,
    ran,
    result,
    run_of,
    started,
    stop,
)
from tests.support import a_job, call, says

LOST = [acquired(), acquired(2, broken=True), acquired(3, broken=True), acquired(4), acquired(5, broken=True)]
IN_A_CALL = [*asks_for("a", "b"), judged(Ruling.ALLOW), started(), acquired(2, broken=True)]
NO_RESUMING = a_job(policy={"on_interrupt": "fail"})
STOPS = a_job(approval={"when_needed": "suspend", "on_timeout": "stop"})
DIED = 'its worker died (policy.on_interrupt = "fail")'


@pytest.mark.parametrize(
    ("facts", "deaths"),
    [
        pytest.param(LOST, 3, id="none that gave the run back"),
        pytest.param([*LOST, assembled(), *answered(says("Hm.", call("a")))], 3, id="talk changes nothing"),
        pytest.param([*LOST, stop()], 3, id="a wish to stop changes nothing"),
        pytest.param([*LOST, assembled(), *answered(says("Hm.", call("a"))), *ran()], 0, id="a call was executed"),
        pytest.param([*IN_A_CALL, result(ResultStatus.UNKNOWN)], 1, id="told as unknown"),
        pytest.param([*IN_A_CALL, result(ResultStatus.ERROR)], 1, id="found out that it never began"),
        pytest.param([*IN_A_CALL, started(), result()], 0, id="executed again"),
        pytest.param([*IN_A_CALL, result(ResultStatus.UNKNOWN), *ran(SECOND)], 0, id="the next call was executed"),
        pytest.param(
            [*asks_for("a"), acquired(2, broken=True), judged(Ruling.ASK), asked()], 0, id="a person is asked"
        ),
    ],
)
def test_deaths_are_counted_until_a_call_is_finished(facts: list[Event], deaths: int) -> None:
    assert run_of(facts).deaths == deaths


def test_a_call_that_kills_its_worker_whenever_it_is_made_ends_the_run() -> None:
    facts: list[Event] = begun()
    for number in range(1, DEATHS + 1):
        key = call_id(number, 1)
        facts += [
            *answered(says("Once more.", call("bash")), number),
            judged(Ruling.ALLOW, key),
            started(key),
            acquired(number + 1, broken=True),
            result(ResultStatus.UNKNOWN, key),
        ]

    assert next_step(run_of(facts), NOW) == Finish(
        Outcome.FAILED, "Once more.", "5 workers died in a row, and no call was finished", partial=True
    )


def test_what_is_settled_at_the_end_does_not_let_the_run_go_on() -> None:
    facts = [*asks_for("a", "b"), judged(Ruling.ALLOW), started(), *(acquired(n, broken=True) for n in range(2, 7))]
    assert next_step(run_of(facts), NOW) == Recover(FIRST, replay=False)

    facts.append(result(ResultStatus.UNKNOWN))
    reason = "5 workers died in a row, and no call was finished"
    refused = f"the run was ended before this call: {reason}"
    assert next_step(run_of(facts), NOW) == Refuse(SECOND, refused, ResultStatus.CANCELLED)

    facts.append(result(ResultStatus.CANCELLED, SECOND))
    assert next_step(run_of(facts), NOW) == Finish(Outcome.FAILED, "Let me see.", reason, partial=True)


def test_a_job_that_wants_no_resuming_ends_after_the_first_death() -> None:
    facts = [*IN_A_CALL, result(ResultStatus.ERROR), result(ResultStatus.CANCELLED, SECOND)]

    assert next_step(run_of([acquired(), acquired(2, broken=True)], job=NO_RESUMING), NOW) == Finish(
        Outcome.INTERRUPTED, reason=DIED
    )
    assert next_step(run_of(facts, job=NO_RESUMING), NOW) == Finish(
        Outcome.INTERRUPTED, "Let me see.", DIED, partial=True
    )


def test_a_call_that_nobody_answered_in_time_ends_a_run_that_wants_that() -> None:
    facts = [*asks_for("a", "b"), judged(Ruling.ASK), asked(), decided(Decision.DENY, by=NOBODY)]
    reason = "nobody answered in time about a"

    assert next_step(run_of(facts, job=STOPS), NOW) == Refuse(
        FIRST, f"the run was ended before this call: {reason}", ResultStatus.CANCELLED
    )
    facts += [result(ResultStatus.CANCELLED), result(ResultStatus.CANCELLED, SECOND)]
    assert next_step(run_of(facts, job=STOPS), NOW) == Finish(Outcome.BLOCKED, "Let me see.", reason, partial=True)
