"""When a job that waits for others is ready: the row `after` of the reference's table 3.3."""

from __future__ import annotations

from datetime import timedelta
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kova_auto.core.errors import ConfigError
from kova_auto.core.ids import RunId
from kova_auto.core.job import Outcome
from kova_auto.core.schedule.parents import EndKey, ParentEnd, Ready, matches, ready
from kova_auto.core.schedule.triggers import AfterTrigger, Parent, ParentEnding, next_fire
from tests.core.schedule.schedule_oracle import utc

HOUR = timedelta(hours=1)
NOON = utc("2026-01-01T12:00")
FETCH, BUILD = Parent("fetch"), Parent("build")
BOTH = AfterTrigger((FETCH, BUILD))


def end(job: str, hours: float, outcome: Outcome = Outcome.DONE, run: str = "") -> ParentEnd:
    """Return an end of a job, so many hours after noon."""
    return ParentEnd(job, RunId(run or f"{job}@{hours}"), NOON + hours * HOUR, outcome)


def test_a_job_is_ready_when_its_parent_ends() -> None:
    assert ready(AfterTrigger((FETCH,)), [end("fetch", 1), end("other", 2)]) == (
        Ready(NOON + HOUR, (end("fetch", 1),)),
    )


def test_each_end_of_an_only_parent_makes_its_own_occurrence() -> None:
    ends = [end("fetch", hours) for hours in (3, 1, 2)]
    assert [one.nominal_at for one in ready(AfterTrigger((FETCH,)), ends)] == [
        NOON + hours * HOUR for hours in (1, 2, 3)
    ]


def test_an_end_that_was_used_is_used_no_more() -> None:
    ends = [end("fetch", 1), end("fetch", 2)]
    assert ready(AfterTrigger((FETCH,)), ends, {ends[1].key}) == (Ready(NOON + HOUR, (ends[0],)),)
    assert ready(AfterTrigger((FETCH,)), ends, {one.key for one in ends}) == ()


def test_a_run_that_ends_once_more_makes_another_occurrence() -> None:
    ends = [end("fetch", 1, Outcome.FAILED, "fetch@x"), end("fetch", 2, Outcome.DONE, "fetch@x")]
    anyhow = AfterTrigger((Parent("fetch", ParentEnding.ANY),))
    assert [one.ends for one in ready(anyhow, ends, {ends[0].key})] == [(ends[1],)]


@pytest.mark.parametrize("outcome", Outcome)
def test_success_is_what_was_done_and_failure_everything_else(outcome: Outcome) -> None:
    succeeded = outcome in {Outcome.DONE, Outcome.NOTHING_TO_REPORT}
    found = [matches(Parent("fetch", on), outcome) for on in ParentEnding]
    assert found == [succeeded, not succeeded, True]


def test_a_parent_that_has_not_ended_as_wanted_makes_nobody_ready() -> None:
    assert ready(AfterTrigger((FETCH,)), [end("fetch", 1, Outcome.FAILED)]) == ()
    on_failure = AfterTrigger((Parent("fetch", ParentEnding.FAILURE),))
    assert [one.nominal_at for one in ready(on_failure, [end("fetch", 1, Outcome.TIMED_OUT)])] == [NOON + HOUR]


def test_all_of_several_parents_must_have_ended_and_the_last_one_counts() -> None:
    assert ready(BOTH, [end("build", 1)]) == ()
    assert ready(BOTH, [end("build", 1), end("fetch", 3)]) == (
        Ready(NOON + 3 * HOUR, (end("fetch", 3), end("build", 1))),
    )


def test_a_parent_that_ends_again_before_the_others_replaces_its_end() -> None:
    ends = [end("fetch", 1), end("fetch", 2), end("build", 3), end("build", 4), end("fetch", 5)]
    assert [one.ends for one in ready(BOTH, ends)] == [(ends[1], ends[2]), (ends[4], ends[3])]


def test_an_end_that_was_replaced_does_not_come_back() -> None:
    ends = [end("fetch", 1), end("fetch", 2), end("build", 3)]
    used = {ends[1].key, ends[2].key}
    assert ready(BOTH, [*ends, end("build", 4)], used) == ()


def test_a_failure_in_between_does_not_take_a_success_back() -> None:
    ends = [end("fetch", 1), end("fetch", 2, Outcome.FAILED), end("build", 3)]
    assert [one.ends for one in ready(BOTH, ends)] == [(ends[0], ends[2])]


def test_an_end_that_is_too_long_ago_counts_no_more() -> None:
    hasty = AfterTrigger((Parent("fetch", within=HOUR), BUILD))
    ends = [end("fetch", 0), end("build", 1.5), end("fetch", 3)]
    assert ready(hasty, ends) == (Ready(NOON + 3 * HOUR, (ends[2], ends[1]), NOON + 4 * HOUR),)
    assert [one.nominal_at for one in ready(hasty, [end("fetch", 0), end("build", 1)])] == [NOON + HOUR]


def test_within_bounds_how_late_the_run_may_begin() -> None:
    (only,) = ready(AfterTrigger((Parent("fetch", within=6 * HOUR),)), [end("fetch", 0)])
    assert [only.is_late(NOON + delay) for delay in (6 * HOUR, 6 * HOUR + timedelta.resolution)] == [False, True]
    (patient,) = ready(AfterTrigger((FETCH,)), [end("fetch", 0)])
    assert not patient.is_late(NOON + 9999 * HOUR)


def test_a_haste_of_nothing_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        Parent("fetch", within=timedelta(0))
    assert (caught.value.key, caught.value.message) == ("within", "wanted more than 0s, found 0s")


def test_no_clock_implies_such_an_instant() -> None:
    assert next_fire(BOTH, NOON) is None


ENDS = st.lists(
    st.tuples(st.sampled_from(("fetch", "build", "test")), st.integers(0, 30), st.sampled_from(Outcome)),
    max_size=25,
    unique_by=lambda found: found[1],
).map(lambda found: [end(job, hours, outcome) for job, hours, outcome in found])
PARENTS = st.lists(
    st.builds(
        Parent,
        st.sampled_from(("fetch", "build", "test")),
        st.sampled_from(ParentEnding),
        st.none() | st.integers(1, 9).map(lambda hours: hours * HOUR),
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda parent: parent.job,
).map(lambda parents: AfterTrigger(tuple(parents)))


@settings(deadline=None)
@given(PARENTS, ENDS)
def test_it_does_not_matter_how_often_one_looks(trigger: AfterTrigger, ends: list[ParentEnd]) -> None:
    used: set[EndKey] = set()
    found: list[Ready] = []
    for hours in count(step=1):
        so_far = [one for one in ends if one.at <= NOON + hours * HOUR]
        for one in ready(trigger, so_far, used):
            found.append(one)
            used |= {each.key for each in one.ends}
        if len(so_far) == len(ends):
            break
    assert tuple(found) == ready(trigger, ends)


@settings(deadline=None)
@given(PARENTS, ENDS)
def test_no_end_is_used_twice_and_each_is_as_wanted(trigger: AfterTrigger, ends: list[ParentEnd]) -> None:
    found = ready(trigger, ends)
    keys = [each.key for one in found for each in one.ends]
    assert len(keys) == len(set(keys))
    for one in found:
        assert [each.job for each in one.ends] == [parent.job for parent in trigger.parents]
        assert one.nominal_at == max(each.at for each in one.ends)
        for parent, each in zip(trigger.parents, one.ends, strict=True):
            assert matches(parent, each.outcome)
            assert parent.within is None or one.nominal_at - each.at <= parent.within
