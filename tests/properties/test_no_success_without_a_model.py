"""Whatever happens, a run whose model never answered is no success."""

from __future__ import annotations

from functools import reduce

from hypothesis import given, settings
from hypothesis import strategies as st

from kova_auto.core.event import Event, ModelReplied
from kova_auto.core.job import Outcome
from kova_auto.core.run import apply, opened
from tests.properties.deeds import driven
from tests.support import a_job, a_request

SUCCESSES = {Outcome.DONE, Outcome.NOTHING_TO_REPORT}


@given(st.data(), st.integers(0, 2))
@settings(deadline=None, max_examples=200)
def test_a_run_whose_model_never_answered_is_no_success(data: st.DataObject, retries: int) -> None:
    job = a_job(limits={"iterations": 3}, policy={"retry": {"attempts": retries, "on": ["transient", "failed"]}})
    request = a_request(job=job)
    facts: list[Event] = [*driven(request, data.draw)]
    state = reduce(apply, facts, opened(request))

    assert state.finished is not None
    replied = [fact for fact in facts if isinstance(fact, ModelReplied)]
    assert len(replied) == len(state.replies)
    if not state.replies[state.first_reply :]:
        assert state.finished.outcome not in SUCCESSES
