"""Whatever models, tools, workers and persons do: a run that is driven on comes to its end."""

from __future__ import annotations

from functools import reduce

from hypothesis import given, settings
from hypothesis import strategies as st

from kova_auto.core.approval.levels import ApprovalLevel
from kova_auto.core.job import Outcome
from kova_auto.core.run import RunState, apply, opened
from tests.properties.deeds import driven
from tests.support import a_job, a_request

ALL = ["rate_limit", "transient", "failed", "timed_out"]


@given(st.data(), st.sampled_from(["deny", "suspend"]), st.none() | st.sampled_from(ApprovalLevel), st.integers(0, 2))
@settings(deadline=None, max_examples=150)
def test_every_run_ends(data: st.DataObject, when_needed: str, level: ApprovalLevel | None, retries: int) -> None:
    job = a_job(
        limits={"iterations": 3},
        approval={"when_needed": when_needed},
        notify=[{"endpoint": "ci"}],
        policy={"retry": {"attempts": retries, "on": ALL}},
    )
    request = a_request(job=job, level=level)
    ended_rightly(reduce(apply, driven(request, data.draw), opened(request)))


def ended_rightly(state: RunState) -> None:
    """Hold what an end promises."""
    assert state.finished is not None
    assert all(call.result for call in state.calls.values())
    assert [owed.endpoint for owed in state.deliveries.values()] == ["ci"]
    assert state.finished.outcome is not Outcome.DONE or state.finished.answer.strip()
    assert state.iteration - state.first_reply <= 3
    assert state.attempt <= 1 + state.job.policy.retry.attempts


@given(st.data(), st.booleans(), st.booleans())
@settings(deadline=None, max_examples=100)
def test_every_run_ends_whose_answer_is_held_to_a_contract(
    data: st.DataObject, has_schema: bool, has_checks: bool
) -> None:
    schema = '{"type": "object", "required": ["found"]}' if has_schema else None
    job = a_job(
        limits={"iterations": 8},
        notify=[{"endpoint": "ci"}],
        schema_text=schema,
        output={"checks": ["make"] if has_checks else []},
    )
    request = a_request(job=job)
    state = reduce(apply, driven(request, data.draw), opened(request))

    assert state.finished is not None
    if state.finished.outcome is Outcome.DONE:
        assert state.finished.answer == '{"found": 1}' if has_schema else state.finished.answer.strip()
        assert not has_checks or (state.checked and all(result.passed for result in state.checked.results))
    if state.finished.outcome is Outcome.CONTRACT_FAILED:
        assert state.repaired
