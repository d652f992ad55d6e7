"""Whatever happened in a run: replayed it is the same, and whatever its journal holds, a replay ends."""

from __future__ import annotations

import asyncio
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from kova_auto.core.approval.levels import ApprovalLevel
from kova_auto.core.event import Event
from kova_auto.core.recording import recording_of
from kova_auto.core.replay import Ending, Replay
from kova_auto.core.run import opened
from tests.engine.replays import Again
from tests.properties.deeds import driven
from tests.support import a_job, a_request
from tests.walks import a_talkative_request, walk

UNJUDGED = "verdicts were drawn at random"


def replayed(events: list[Event]) -> Replay:
    return asyncio.run(Again(unjudged=UNJUDGED).of(recording_of(events)))


@given(st.data(), st.sampled_from(["deny", "suspend"]), st.none() | st.sampled_from(ApprovalLevel), st.integers(0, 99))
@settings(deadline=None, max_examples=150)
def test_a_run_that_is_replayed_is_the_same(
    data: st.DataObject, when_needed: str, level: ApprovalLevel | None, left_out: int
) -> None:
    job = a_job(limits={"iterations": 3}, approval={"when_needed": when_needed})
    request = a_request(job=job, level=level)
    events = [request, *driven(request, data.draw)]
    whole = replayed(events)
    assert (whole.ended, whole.differs, whole.reason_now) == (Ending.FINISHED, False, whole.reason_then)

    # Where it was still under way, it is the same as far as it went.
    assert not replayed(events[: max(len(events) - 1 - left_out, 1)]).differs


@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=30)
def test_a_replay_ends_whatever_the_journal_holds(seed: int) -> None:
    request = a_talkative_request(f"nightly@{seed}")
    events = [request, *(event for _, event in walk(opened(request), Random(seed), steps=80))]
    assert replayed(events).run_id == request.run_id
