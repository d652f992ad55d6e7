"""Jobs that wait for one another: unknown ones, circles and chains that are too long are found before they run."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kova_auto.core.schedule.dependencies import Fault, faults

NOT_ITSELF = "wanted jobs that do not wait for themselves, found"


def test_jobs_that_wait_for_others_that_exist_are_sound() -> None:
    waits = {"build": ["fetch"], "report": ["build", "fetch"]}
    assert faults(waits, ("fetch", "build", "report")) == ()


def test_a_job_that_nobody_knows_is_named_with_a_suggestion() -> None:
    assert faults({"build": ["lint", "fetsch"]}, ("fetch", "build")) == (
        Fault("build", 0, "no job is called 'lint'", "known here: build, fetch"),
        Fault("build", 1, "no job is called 'fetsch'", "did you mean fetch?"),
    )


def test_a_job_that_waits_for_itself_is_refused() -> None:
    assert faults({"a": ["b", "a"]}, ("a", "b")) == (Fault("a", 1, f"{NOT_ITSELF} a after a", "leave one out"),)


def test_a_circle_is_spelled_out_for_each_job_in_it_and_for_no_other() -> None:
    waits = {"a": ["x", "b"], "b": ["c"], "c": ["a"], "behind": ["a"], "before": ["x"]}
    assert faults(waits, (*waits, "x")) == (
        Fault("a", 1, f"{NOT_ITSELF} a after b after c after a", "leave one out"),
        Fault("b", 0, f"{NOT_ITSELF} b after c after a after b", "leave one out"),
        Fault("c", 0, f"{NOT_ITSELF} c after a after b after c", "leave one out"),
    )


def chain(length: int) -> dict[str, list[str]]:
    """Return a row of jobs, of which the last has so many before it."""
    return {f"j{n:02}": [f"j{n - 1:02}"] for n in range(1, length + 1)}


def test_sixteen_jobs_may_end_before_another_begins() -> None:
    assert faults(chain(16), {f"j{n:02}" for n in range(17)}) == ()


def test_a_seventeenth_is_refused_with_the_whole_chain() -> None:
    (found,) = faults(chain(17), {f"j{n:02}" for n in range(18)})
    row = " after ".join(f"j{n:02}" for n in range(17, -1, -1))
    assert found == Fault("j17", 0, f"wanted at most 16 jobs before it, one after the other, found {row}", "")


def test_only_the_longest_way_counts() -> None:
    waits = {**chain(17), "end": ["j00", "j16"]}
    assert [found.job for found in faults(waits, {*waits, "j00"})] == ["end", "j17"]


def test_a_thousand_jobs_in_a_row_are_no_trouble_to_check() -> None:
    waits = {f"j{n}": [f"j{n - 1}"] for n in range(1, 1000)}
    found = faults(waits, {*waits, "j0"})
    assert (len(found), max(len(fault.message) for fault in found) < 300) == (983, True)


GRAPHS = st.dictionaries(
    st.sampled_from("abcdefgh"), st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=3, unique=True)
)


def waits_for_itself(job: str, waits: dict[str, list[str]]) -> bool:
    seen: set[str] = set()
    following = set(waits.get(job, ()))
    while following - seen:
        seen |= following
        following = {parent for child in seen for parent in waits.get(child, ())}
    return job in seen


@settings(deadline=None)
@given(GRAPHS)
def test_exactly_the_jobs_that_wait_for_themselves_are_refused(waits: dict[str, list[str]]) -> None:
    found = faults(waits, tuple("abcdefgh"))
    assert [fault.job for fault in found] == sorted(job for job in waits if waits_for_itself(job, waits))
    for fault in found:
        circle = fault.message.removeprefix(f"{NOT_ITSELF} ").split(" after ")
        assert (circle[0], circle[-1], circle[1]) == (fault.job, fault.job, waits[fault.job][fault.index])
        assert all(parent in waits[child] for child, parent in pairwise(circle))


@pytest.mark.parametrize("known", [(), ("a",)])
def test_no_jobs_have_no_faults(known: tuple[str, ...]) -> None:
    assert faults({}, known) == ()
