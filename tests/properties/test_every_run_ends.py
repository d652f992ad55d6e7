"""Whatever models, tools, workers and persons do: a run that is driven on comes to its end."""

from __future__ import annotations

from datetime import timedelta
from functools import reduce

from hypothesis import given, settings
from hypothesis import strategies as st

from kova_auto.core.approval.levels import ApprovalLevel, Decision
from kova_auto.core.event import ApprovalDecided, StopRequested
from kova_auto.core.job import Outcome
from kova_auto.core.run import RunState, apply, opened
from kova_auto.core.step import AwaitApproval, AwaitUntil, Rest, next_step
from tests.properties.deeds import recorded
from tests.support import a_job, a_request

MOST_STEPS = 400
SECOND = timedelta(seconds=1)


@given(st.data(), st.sampled_from(["deny", "suspend"]), st.none() | st.sampled_from(ApprovalLevel))
@settings(deadline=None, max_examples=150)
def test_every_run_ends(data: st.DataObject, when_needed: str, level: ApprovalLevel | None) -> None:
    job = a_job(limits={"iterations": 3}, approval={"when_needed": when_needed}, notify=[{"endpoint": "ci"}])
    state, now = opened(a_request(job=job, level=level)), a_request().at
    for _ in range(MOST_STEPS):
        now += SECOND
        step = next_step(state, now)
        if isinstance(step, Rest):
            break
        if isinstance(step, AwaitUntil):
            now = step.until
        if isinstance(step, AwaitApproval):
            answer = data.draw(st.sampled_from(Decision))
            state = apply(state, ApprovalDecided(at=now, call_id=step.call_id, decision=answer, by="ada"))
        elif data.draw(st.integers(0, 40)) == 40 and not state.stop:
            state = apply(state, StopRequested(at=now, outcome=Outcome.CANCELLED, reason="enough", by="ada"))
        state = reduce(apply, recorded(next_step(state, now), state, now, data.draw), state)

    ended_rightly(state)


def ended_rightly(state: RunState) -> None:
    """Hold what an end promises."""
    assert state.finished is not None
    assert all(call.result for call in state.calls.values())
    assert [owed.endpoint for owed in state.deliveries.values()] == ["ci"]
    assert state.finished.outcome is not Outcome.DONE or state.finished.answer.strip()
    assert state.iteration <= 3
