"""What a run's facts add up to, and which facts cannot follow."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import accumulate

import pytest

from kova_auto.core.approval.levels import Decision, Ruling
from kova_auto.core.errors import IllegalEventError
from kova_auto.core.event import ClockMoved, Event, ModelCallFailed, ModelReplied, StopRequested
from kova_auto.core.ids import CallId, blob_hash
from kova_auto.core.job import Outcome
from kova_auto.core.message import FileChange, ResultStatus, ToolCall, Usage
from kova_auto.core.run import Execution, RunState, apply, fold, opened
from kova_auto.core.state import replace
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
    calling,
    decided,
    ended,
    judged,
    planned,
    process,
    ran,
    result,
    retried,
    run_of,
    started,
    stop,
)
from tests.support import a_request, at, call, replied, says

ASKING = [*asks_for("bash"), judged(Ruling.ASK), asked()]
RUNNING = [*asks_for("bash"), judged(Ruling.ALLOW), started()]
CUT_OFF = [*RUNNING, acquired(2)]
REFUSED = [*ASKING, decided(Decision.DENY)]
SETTLED = [*asks_for("bash"), *ran()]
OVER = [*begun(), *answered(says("All well.")), ended()]
REPEATED = ModelReplied(at=at("06:00:02"), iteration=2, reply=says("Again."), calls=(ToolCall(id=FIRST, tool="bash"),))
TWINS = REPEATED.model_copy(
    update={"calls": (ToolCall(id=CallId("2.1"), tool="a"), ToolCall(id=CallId("2.1"), tool="b"))}
)
FAILED = ModelCallFailed(at=at("06:00:02"), iteration=1, error="ModelUnavailable", message="busy", retryable=True)


@pytest.mark.parametrize(
    ("facts", "cannot_follow"),
    [
        pytest.param([], a_request(), id="a second opening"),
        pytest.param([acquired(2)], acquired(2), id="an epoch that is taken"),
        pytest.param([acquired(2)], acquired(1), id="an epoch that is over"),
        pytest.param(begun(), assembled(), id="a second context"),
        pytest.param(begun(), says_nothing := replied(1, says("Hm.")), id="a reply nobody asked for"),
        pytest.param(begun(), FAILED, id="a failure of no call"),
        pytest.param([*begun(), calling()], calling(), id="a second call of the model"),
        pytest.param([*begun(), calling()], replied(2, says("Hm.")), id="a reply that skips one"),
        pytest.param([*begun(), calling(), acquired(2)], says_nothing, id="a reply to a worker that is gone"),
        pytest.param([*SETTLED, calling(2)], REPEATED, id="a call's id that is taken"),
        pytest.param([*SETTLED, calling(2)], TWINS, id="two calls of one id"),
        pytest.param(asks_for("bash"), calling(2), id="a call of the model before the results"),
        pytest.param(asks_for("bash"), judged(Ruling.ALLOW, CallId("9.9")), id="a verdict on no call"),
        pytest.param([*asks_for("bash"), judged(Ruling.ASK)], judged(Ruling.ALLOW), id="a second verdict"),
        pytest.param([*asks_for("bash"), result(ResultStatus.CANCELLED)], judged(Ruling.ALLOW), id="a late verdict"),
        pytest.param(asks_for("bash"), asked(), id="a question before the verdict"),
        pytest.param([*asks_for("bash"), judged(Ruling.ALLOW)], asked(), id="a question about what is allowed"),
        pytest.param([*asks_for("bash"), judged(Ruling.DENY)], asked(), id="a question about what is denied"),
        pytest.param(ASKING, asked(), id="a second question"),
        pytest.param([*asks_for("bash"), judged(Ruling.ASK)], decided(Decision.ONCE), id="an answer to no question"),
        pytest.param(REFUSED, decided(Decision.ONCE), id="a second answer"),
        pytest.param([*ASKING, result(ResultStatus.CANCELLED)], decided(Decision.ONCE), id="an answer too late"),
        pytest.param(asks_for("bash"), started(), id="a start before the verdict"),
        pytest.param([*asks_for("bash"), judged(Ruling.DENY)], started(), id="a start of what is denied"),
        pytest.param(ASKING, started(), id="a start before the answer"),
        pytest.param(REFUSED, started(), id="a start of what a person refused"),
        pytest.param(RUNNING, started(), id="a second start"),
        pytest.param(SETTLED, started(), id="a start of what is over"),
        pytest.param(asks_for("bash"), process(), id="a process of no start"),
        pytest.param(CUT_OFF, process(), id="a process of a start in doubt"),
        pytest.param(SETTLED, process(), id="a process of what is over"),
        pytest.param(asks_for("bash"), planned(), id="a write of no start"),
        pytest.param(CUT_OFF, planned(), id="a write of a start in doubt"),
        pytest.param(asks_for("bash"), result(), id="a success of no start"),
        pytest.param(SETTLED, result(), id="a second result"),
        pytest.param(SETTLED, result(ResultStatus.ERROR), id="a second result of another kind"),
        pytest.param(RUNNING, result(concludes="splendid"), id="an end that no outcome names"),
        pytest.param([stop()], stop(Outcome.TIMED_OUT), id="a second stop"),
        pytest.param(asks_for("bash"), ended(), id="an end with a call open"),
        pytest.param(begun(), retried(), id="a retry of what goes on"),
        pytest.param(OVER, retried(3), id="a retry that skips one"),
        *(
            pytest.param(OVER, late, id=f"{late.kind} after the end")
            for late in (acquired(2), calling(2), stop(), ended(), result(), decided(Decision.ONCE))
        ),
    ],
)
def test_what_cannot_follow_is_refused_and_changes_nothing(facts: Sequence[Event], cannot_follow: Event) -> None:
    before = run_of(facts)

    with pytest.raises(IllegalEventError):
        apply(before, cannot_follow)
    assert before == run_of(facts)


@pytest.mark.parametrize("facts", [[], [acquired()]])
def test_a_run_begins_with_its_request(facts: Sequence[Event]) -> None:
    with pytest.raises(IllegalEventError, match="begins with run_requested"):
        fold(facts)


def test_a_run_that_was_only_asked_for_holds_nothing_else() -> None:
    assert fold([a_request()]) == opened(a_request()) == RunState(request=a_request())


@pytest.mark.parametrize(
    ("facts", "execution"),
    [
        ([], Execution.QUEUED),
        ([acquired()], Execution.RUNNING),
        (ASKING, Execution.SUSPENDED),
        (REFUSED, Execution.RUNNING),
        ([*ASKING, result(ResultStatus.CANCELLED)], Execution.RUNNING),
        (OVER, Execution.FINISHED),
        ([*OVER, retried()], Execution.QUEUED),
        ([*OVER, retried(), acquired(2)], Execution.RUNNING),
    ],
)
def test_where_a_run_is_follows_from_its_facts(facts: Sequence[Event], execution: Execution) -> None:
    assert run_of(facts).execution is execution


def test_a_reply_opens_its_calls_in_the_models_order() -> None:
    state = run_of(asks_for("read", "bash"))

    assert state.open_calls == (FIRST, SECOND)
    assert [state.call(key).call.tool for key in state.open_calls] == ["read", "bash"]
    assert (state.iteration, state.model_calls, state.calling) == (1, 1, None)


def test_a_call_keeps_everything_that_is_known_of_it() -> None:
    done = result(reads={"/srv/app/a": blob_hash(b"old")})
    state = run_of(
        asks_for("bash"), judged(Ruling.ASK), asked(), decided(Decision.ONCE), started(), process(), planned(), done
    )

    known = state.call(FIRST)
    assert known.verdict == judged(Ruling.ASK).verdict
    assert (known.approval, known.decision) == (asked(), decided(Decision.ONCE))
    assert (known.started, known.process, known.planned) == (started(), process(), (planned(),))
    assert (known.result, known.in_doubt) == (done.result, False)


def test_a_lost_worker_puts_in_doubt_what_it_had_started_and_nothing_else() -> None:
    state = run_of(asks_for("read", "bash"), ran(), judged(Ruling.ALLOW, SECOND), started(SECOND), acquired(2))

    assert [(key, call.in_doubt) for key, call in state.calls.items()] == [(FIRST, False), (SECOND, True)]


def test_a_call_that_is_made_again_forgets_what_the_first_try_announced() -> None:
    state = run_of(RUNNING, process(), planned(), acquired(2), started())

    known = state.call(FIRST)
    assert (known.in_doubt, known.process, known.planned) == (False, None, ())


def test_files_are_remembered_as_the_model_last_saw_them() -> None:
    old, new = blob_hash(b"old"), blob_hash(b"new")
    written = [
        FileChange(path="/srv/app/a", before=old, after=new),
        FileChange(path="/srv/app/b", before=old, after=None),
    ]
    state = run_of(asks_for("read", "edit"), ran(reads={"/srv/app/a": old}), ran(SECOND, changes=written))

    assert state.seen == {"/srv/app/a": new}


def test_what_results_say_of_the_run_is_kept() -> None:
    refused = result(ResultStatus.DENIED, SECOND)
    state = run_of(asks_for("todo", "bash"), ran(todo=[{"text": "look"}], concludes="nothing_to_report"), refused)

    assert (state.todo, state.concludes, state.denials) == (({"text": "look"},), "nothing_to_report", 1)


def test_usage_adds_up_and_an_unknown_price_makes_the_sum_unknown() -> None:
    first = answered(says("Hm.", tokens=7, cost_usd=0.5), 1)
    second = answered(says("Well.", tokens=5, cost_usd=0.25), 2)
    third = answered(says("So.", tokens=1, cost_usd=None), 3)

    assert run_of(begun(), first, second).usage == Usage(input_tokens=12, cost_usd=0.75)
    assert run_of(begun(), first, second, third).usage == Usage(input_tokens=13, cost_usd=None)


def test_failures_are_counted_until_a_reply_comes() -> None:
    failed = run_of(begun(), broke(), broke())
    after = run_of(begun(), broke(), broke(), answered(says("Hm.")))

    assert (failed.failures, failed.failure is None, failed.model_calls) == (2, False, 2)
    assert (after.failures, after.failure, after.model_calls) == (0, None, 3)


@pytest.mark.parametrize(
    ("facts", "ran_s"),
    [
        pytest.param([acquired(when=at("06:00:10"))], 0.0, id="waiting for a worker"),
        pytest.param([acquired(when=at("06:00:10")), assembled(at("06:00:13"))], 3.0, id="working"),
        pytest.param(
            [acquired(when=at("06:00:10")), assembled(at("06:00:13")), acquired(2, when=at("07:00:00"))],
            3.0,
            id="dead, or suspended",
        ),
        pytest.param([acquired(when=at("06:00:10")), assembled(at("06:00:08"))], 0.0, id="the clock was set back"),
        pytest.param(
            [acquired(when=at("06:00:10")), ClockMoved(at=at("08:00:00"), ran_s=4.0), assembled(at("08:00:03"))],
            7.0,
            id="the machine slept",
        ),
    ],
)
def test_only_time_under_a_worker_counts(facts: Sequence[Event], ran_s: float) -> None:
    assert run_of(facts).ran_s == ran_s


def test_a_persons_answer_moves_no_clock() -> None:
    before = run_of(ASKING)
    late = decided(Decision.ONCE).model_copy(update={"at": at("18:00:00")})
    after = apply(before, late)

    assert (after.ran_s, after.last_at) == (before.ran_s, before.last_at)


def finished_at(when: datetime) -> RunState:
    """Return a run that has ended then."""
    return run_of(begun(), answered(says("All well.")), ended(when=when))


def test_an_end_is_kept_with_its_instant() -> None:
    state = finished_at(at("06:01:00"))

    assert (state.finished, state.finished_at) == (ended(when=at("06:01:00")), at("06:01:00"))


def test_a_retry_begins_anew_and_keeps_what_happened() -> None:
    refused = [judged(Ruling.DENY, SECOND), result(ResultStatus.DENIED, SECOND)]
    done = ran(concludes="nothing_to_report", todo=[{"text": "look"}], reads={"/srv/app/a": blob_hash(b"old")})
    first = run_of(asks_for("read", "bash"), done, refused, answered(says("Not today."), 2), ended())
    again = apply(first, retried(not_before=at("07:00:00")))

    assert again == RunState(
        request=first.request,
        seq=first.seq + 1,
        epoch=1,
        attempt=2,
        retried=(retried(not_before=at("07:00:00")),),
        replies=first.replies,
        first_reply=2,
        calls=first.calls,
        model_calls=2,
        usage=first.usage,
        spent=first.spent,
        day_before_usd=0.002,
        not_before=at("07:00:00"),
        deliveries=first.deliveries,
    )


def test_the_next_attempts_calls_are_told_from_the_firsts() -> None:
    again = replied(2, says("Once more.", call("read")))
    state = run_of(SETTLED, ended(), retried(), acquired(2), assembled(), calling(2), again)

    assert list(state.calls) == [FIRST, CallId("2.1")]
    assert state.open_calls == (CallId("2.1"),)
    assert state.call(FIRST).result is not None


def test_only_background_processes_outlive_their_calls() -> None:
    state = run_of(
        asks_for("bash", "bash"),
        [judged(Ruling.ALLOW), started(), process(background=True), result()],
        [judged(Ruling.ALLOW, SECOND), started(SECOND), process(SECOND), result(ResultStatus.OK, SECOND)],
    )

    assert state.background == (process(background=True),)


def test_a_state_stays_what_it_was_whatever_follows_it() -> None:
    facts = [*SETTLED, StopRequested(at=at("06:09:00"), outcome=Outcome.CANCELLED, reason="", by="ada"), ended()]
    states = list(accumulate(facts, apply, initial=opened(a_request())))

    assert states == [fold([a_request(), *facts[:count]]) for count in range(len(facts) + 1)]
    assert [state.seq for state in states] == list(range(1, len(facts) + 2))


def test_a_changed_state_differs_in_what_was_changed_alone_and_is_as_fixed() -> None:
    state = run_of(*SETTLED)
    changed = replace(state, seq=99, stop=None)

    assert changed == state._replace(seq=99)
    assert (type(changed), state.seq) == (RunState, len(SETTLED) + 1)
    with pytest.raises(AttributeError):
        changed.seq = 100  # type: ignore[misc]  # That is the point.
    with pytest.raises(TypeError, match="RunState has no field sequence"):
        replace(state, sequence=1)
