"""Any list of facts that is accepted: what always holds of it, whoever wrote which fact when."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kova_auto.core.approval.levels import ApprovalLevel
from kova_auto.core.errors import IllegalEventError
from kova_auto.core.event import (
    ApprovalDecided,
    ApprovalRequested,
    CallFinished,
    CallStarted,
    DeliveryFinished,
    DeliveryRequeued,
    DeliveryStarted,
    Event,
    Previous,
    RunAcquired,
    RunFinished,
    RunRequested,
    RunRetried,
    StopRequested,
    dump,
    load,
)
from kova_auto.core.job import Job, Outcome
from kova_auto.core.limits import left_s, running_s
from kova_auto.core.owed import Cause
from kova_auto.core.run import Execution, RunState, apply, fold, opened
from kova_auto.core.step import may_rest, next_step
from kova_auto.core.steps import (
    Adjudicate,
    AnswerForNobody,
    AskPerson,
    AwaitApproval,
    AwaitWorkspace,
    Rest,
    Resting,
    Step,
)
from kova_auto.core.view import approval_rows, delivery_rows, run_row
from tests.properties.deeds import recorded
from tests.support import a_job, a_request
from tests.walks import candidates, follows

BY_OTHERS = (RunAcquired, ApprovalDecided, DeliveryStarted, DeliveryFinished, DeliveryRequeued, RunRetried)
ENDS = (StopRequested, RunFinished)
EVER = (timedelta(days=-400), timedelta(0), timedelta(seconds=1), timedelta(hours=2), timedelta(days=400))
GAPS = st.sampled_from([0, 0, 1, 30, 3_600]).map(lambda seconds: timedelta(seconds=seconds))


def a_telling_job(when_needed: str, iterations: int, denials: int, retries: int) -> Job:
    """Return a job that owes something whenever it can."""
    return a_job(
        approval={"when_needed": when_needed, "notify": ["desk", "desk", "phone"]},
        notify=[{"endpoint": "ci"}, {"endpoint": "team", "when": "change"}, {"endpoint": "team", "when": ["done"]}],
        limits={"iterations": iterations, "denials": denials},
        policy={"retry": {"attempts": retries, "on": ["rate_limit", "transient", "failed", "timed_out"]}},
    )


class Journal(RuleBasedStateMachine):
    """Write to one run as a worker, as others, and at random; the fold is kept beside the list."""

    @initialize(
        job=st.builds(
            a_telling_job, st.sampled_from(["deny", "suspend"]), st.integers(1, 4), st.integers(1, 4), st.integers(0, 2)
        ),
        level=st.none() | st.sampled_from(ApprovalLevel),
        staged=st.booleans(),
        blocked=st.sampled_from(["", "", "", "no model"]),
    )
    def a_run_is_asked_for(self, job: Job, level: ApprovalLevel | None, staged: bool, blocked: str) -> None:
        request = a_request(job=job, level=level, staged=staged, blocked=blocked)
        self.facts: list[Event] = [request]
        self.state = opened(request)
        self.now = request.at

    @rule(data=st.data(), steps=st.integers(1, 12))
    def the_worker_goes_on(self, data: st.DataObject, steps: int) -> None:
        for _ in range(steps):
            self.now += timedelta(seconds=1)
            for event in recorded(next_step(self.state, self.now), self.state, self.now, data.draw):
                self.write(event)

    @rule(data=st.data(), gap=GAPS)
    def others_write(self, data: st.DataObject, gap: timedelta) -> None:
        self.now += gap
        events = [event for event in candidates(self.state, self.now) if isinstance(event, BY_OTHERS)]
        events = [event for event in events if not ends(event)]
        if legal := [event for event in events if follows(self.state, event)]:
            self.write(data.draw(st.sampled_from(legal)))

    @rule(data=st.data())
    def somebody_tries_what_cannot_follow(self, data: st.DataObject) -> None:
        illegal = [event for event in candidates(self.state, self.now) if not follows(self.state, event)]
        with pytest.raises(IllegalEventError):
            apply(self.state, data.draw(st.sampled_from(illegal)))
        assert self.state == fold(self.facts)

    @rule(data=st.data())
    def a_worker_writes_out_of_turn(self, data: st.DataObject) -> None:
        events = [event for event in candidates(self.state, self.now) if not isinstance(event, BY_OTHERS + ENDS)]
        if legal := [event for event in events if follows(self.state, event)]:
            self.write(data.draw(st.sampled_from(legal)))

    @precondition(lambda self: self.state.iteration - self.state.first_reply > 1)
    @rule(data=st.data())
    def it_is_stopped_or_ends(self, data: st.DataObject) -> None:
        events = [event for event in candidates(self.state, self.now) if ends(event)]
        if legal := [event for event in events if follows(self.state, event)]:
            self.write(data.draw(st.sampled_from(legal)))

    def write(self, event: Event) -> None:
        before, self.state = self.state, apply(self.state, event)
        self.facts.append(event)
        forgets_nothing(before, self.state)

    @invariant()
    def the_next_step_is_known_at_any_time(self) -> None:
        for far in EVER:
            at = self.now + far
            step = next_step(self.state, at)
            assert isinstance(step, Step)
            assert may_rest(self.state) or not isinstance(step, Resting)
            assert (step == Rest()) == (self.state.finished is not None)
            assert left_s(self.state, at) >= 0 <= running_s(self.state, at)

    @invariant()
    def a_suspended_run_waits_for_its_person_unless_it_is_to_end(self) -> None:
        if self.state.execution is Execution.SUSPENDED and not self.state.stop and not self.state.request.blocked:
            step = next_step(self.state, self.state.last_at or self.now)
            waits = isinstance(step, AwaitApproval | AnswerForNobody | Adjudicate | AskPerson | AwaitWorkspace)
            assert waits or self.state.context is None or ends_soon(self.state)

    @invariant()
    def nothing_runs_without_leave_and_every_call_has_one_result(self) -> None:
        starts = {event.call_id for event in self.facts if isinstance(event, CallStarted)}
        results = Counter(event.call_id for event in self.facts if isinstance(event, CallFinished))
        assert all(self.state.call(key).permitted for key in starts)
        assert set(results.values()) <= {1}
        assert results.keys() == {key for key, call in self.state.calls.items() if call.result}
        if self.state.finished:
            assert results.keys() == self.state.calls.keys()

    @invariant()
    def everything_is_owed_once_to_each_endpoint(self) -> None:
        owed = list(self.state.deliveries.values())
        assert len({(duty.cause_seq, duty.endpoint) for duty in owed}) == len(owed)
        first = {(duty.cause, duty.cause_seq, duty.endpoint) for duty in owed if duty.cause is not Cause.UNREACHED}
        assert first == duties(self.facts)

    @invariant()
    def where_nobody_could_be_asked_the_others_are_told_once(self) -> None:
        told = [duty for duty in self.state.deliveries.values() if duty.cause is Cause.UNREACHED]
        asked = {seq for seq, event in enumerate(self.facts, 1) if isinstance(event, ApprovalRequested)}
        assert {duty.endpoint for duty in told} <= {"ci", "team"}
        assert {duty.about_seq for duty in told} <= asked
        assert len({(duty.about_seq, duty.endpoint) for duty in told}) == len(told)

    @invariant()
    def every_row_can_be_shown(self) -> None:
        row = run_row(self.state)
        asked = {event.call_id for event in self.facts if isinstance(event, ApprovalRequested)}
        assert (row.execution, row.finished_at) == (self.state.execution, self.state.finished_at)
        assert {approval.call_id for approval in approval_rows(self.state)} == asked
        assert [duty.delivery_id for duty in delivery_rows(self.state)] == list(self.state.deliveries)

    def teardown(self) -> None:
        if hasattr(self, "facts"):
            assert self.state.seq == len(self.facts)
            assert fold(self.facts) == self.state
            assert fold(load(dump(event)) for event in self.facts) == self.state


def forgets_nothing(before: RunState, after: RunState) -> None:
    """Hold that a further fact, a retry too, keeps what was said, what came of calls, and what is owed."""
    assert after.replies[: len(before.replies)] == before.replies
    assert before.deliveries.keys() <= after.deliveries.keys()
    assert after.epoch >= before.epoch
    for key, call in before.calls.items():
        assert call.result is None or after.calls[key].result == call.result


def ends_soon(state: RunState) -> bool:
    """Say whether a ceiling, or workers that die, end the run before its person answers."""
    return (
        state.denials >= state.job.limits.denials or state.deaths > 0 or left_s(state, state.last_at or AGES_AGO) <= 0
    )


def ends(event: Event) -> bool:
    """Say whether a fact ends a run or an attempt of it, or wishes to."""
    return isinstance(event, ENDS) or (isinstance(event, RunRetried) and event.ended is not None)


AGES_AGO = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


def duties(facts: list[Event]) -> set[tuple[Cause, int, str]]:
    """Return what must be owed, found by walking the list alone."""
    found: set[tuple[Cause, int, str]] = set()
    for seq, event in enumerate(facts, 1):
        if isinstance(event, ApprovalRequested):
            found |= {(Cause.APPROVAL, seq, name) for name in ("desk", "phone")}
        if isinstance(event, RunFinished):
            found.add((Cause.OUTCOME, seq, "ci"))
            if event.outcome is Outcome.DONE or event.previous != Previous(
                outcome=event.outcome, answer_hash=event.answer_hash
            ):
                found.add((Cause.OUTCOME, seq, "team"))
    request = facts[0]
    return set() if isinstance(request, RunRequested) and request.staged else found


TestJournal = Journal.TestCase
TestJournal.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
