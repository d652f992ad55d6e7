"""Whatever models, tools, workers and persons do: a family comes to its end, and the parent last."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kova_auto.core.job import Outcome
from tests.properties.families import Family, walked
from tests.support import a_job, a_request

thoroughly = settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


@given(st.data(), st.sampled_from(["deny", "suspend"]), st.integers(0, 1))
@thoroughly
def test_every_family_ends_with_its_parent_last(data: st.DataObject, when_needed: str, retries: int) -> None:
    job = a_job(
        limits={"iterations": 5},
        approval={"when_needed": when_needed},
        agents={"allow": ["explorer"]},
        policy={"retry": {"attempts": retries, "on": ["failed", "timed_out"]}},
    )
    family = walked(a_request(job=job), data.draw)
    ended_rightly(family)
    shown_rightly(family)


def ended_rightly(family: Family) -> None:
    """Hold that all have ended, each after those that it dispatched, which it knows of."""
    assert all(state.finished for state in family.runs.values())
    for state in family.runs.values():
        assert all(call.result for call in state.calls.values())
        by = state.request.child_of
        if by is None:
            continue
        parent = family.runs[by.run_id]
        assert state.finished
        assert parent.finished
        assert state.finished.at <= parent.finished.at
        known = parent.children[by.call_id]
        assert known.finished
        assert (known.run_id, known.finished.outcome) == (state.run_id, state.finished.outcome)
        if parent.finished.outcome is Outcome.DONE and not parent.finished.reason:
            assert known.is_told


def shown_rightly(family: Family) -> None:
    """Hold that what a model is shown only grows, save where it was folded or begun anew."""
    for shown in family.shown.values():
        for (key, before), (again, after) in pairwise(shown):
            assert key != again or after[: len(before)] == before
