"""When a model is asked again after a failure, and who is asked instead."""

from __future__ import annotations

from datetime import timedelta

import pytest

from kova_auto.core.event import Event, ModelCallFailed
from kova_auto.core.fault import TRANSIENT, Fault
from kova_auto.core.patience import BUDGET, LONGEST_S, again_at, following, jitter
from kova_auto.core.pin import ModelPin
from kova_auto.core.run import RunState
from kova_auto.core.step import next_step
from kova_auto.core.steps import CallModel, Finish
from tests.core.facts import NOW, acquired, answered, begun, calling, run_of
from tests.support import says

ONE, TWO = ModelPin(name="test/model"), ModelPin(name="other/model")
OTHERS = {"pins": (ONE, TWO)}


def failed(fault: Fault, times: int = 1, model: str = "test/model", *, given_up: bool = False) -> list[Event]:
    """Call a model as often, and get nothing."""
    why = {"error": "ModelUnavailable", "message": "busy", "fault": fault, "retryable": not given_up}
    failure = ModelCallFailed.model_validate({"at": NOW, "iteration": 1, **why})
    one: list[Event] = [calling().model_copy(update={"model": model}), failure]
    return one * times


def wait_s(state: RunState, fault: Fault, asked_s: float | None = None) -> float | None:
    found = again_at(state, fault, asked_s, NOW)
    return (found - NOW).total_seconds() if found else None


@pytest.mark.parametrize("fault", sorted(TRANSIENT))
@pytest.mark.parametrize(("before", "bound_s"), [(0, 2.0), (1, 8.0), (2, 30.0)])
def test_what_may_pass_is_tried_again_ever_later(fault: Fault, before: int, bound_s: float) -> None:
    state = run_of(begun(), failed(fault, before), calling())
    waited = wait_s(state, fault)

    assert waited is not None
    assert bound_s / 2 <= waited <= bound_s


@pytest.mark.parametrize("fault", sorted(set(Fault) - TRANSIENT))
def test_what_will_not_pass_is_not_tried_again(fault: Fault) -> None:
    assert wait_s(run_of(begun(), calling()), fault) is None
    assert wait_s(run_of(begun(), calling()), fault, 2.0) is None


def test_a_provider_that_is_too_busy_lets_the_run_rest_for_longer_and_longer() -> None:
    def rests_s(before: int) -> float | None:
        return wait_s(run_of(begun(), failed(Fault.OVERLOADED, before), calling()), Fault.OVERLOADED)

    for before, least_s in ((3, 300), (4, 900), (5, 2700)):
        assert least_s <= (rests_s(before) or 0) <= least_s * 1.25
    assert rests_s(6) is None


def test_a_connection_that_fails_four_times_is_given_up() -> None:
    assert wait_s(run_of(begun(), failed(Fault.NETWORK, 3), calling()), Fault.NETWORK) is None


@pytest.mark.parametrize(
    ("asked_s", "least", "most"), [(0.0, 0.0, 1.0), (2.0, 2.0, 3.0), (60.0, 60.0, 61.0), (10_800.0, 10_800.0, 10_801.0)]
)
def test_what_the_provider_asks_for_is_waited_and_little_more(asked_s: float, least: float, most: float) -> None:
    waited = wait_s(run_of(begun(), calling()), Fault.RATE_LIMITED, asked_s)

    assert waited is not None
    assert least <= waited <= most


@pytest.mark.parametrize("asked_s", [LONGEST_S + 1, 1e9, 1e18])
def test_nobody_is_waited_for_longer_than_a_day(asked_s: float) -> None:
    assert wait_s(run_of(begun(), calling()), Fault.RATE_LIMITED, asked_s) is None


def test_where_another_can_be_asked_nobody_is_waited_for_long() -> None:
    state = run_of(begun(), calling(), **OTHERS)

    assert wait_s(state, Fault.RATE_LIMITED, 61.0) is None
    assert wait_s(state, Fault.RATE_LIMITED, 59.0) is not None
    assert wait_s(run_of(begun(), failed(Fault.OVERLOADED, 3), calling(), **OTHERS), Fault.OVERLOADED) is None


def test_an_attempt_bears_only_so_many_failures_of_a_kind() -> None:
    facts = [*begun()]
    for number in range(1, 5):  # three failures before each of four replies
        facts += [*failed(Fault.NETWORK, 3), *answered(says("Hm."), number)]
    again = [event.model_copy(update={"iteration": 5}) for event in failed(Fault.NETWORK, 1)]

    assert run_of(facts).failed == {False: 12}
    assert wait_s(run_of(facts, again), Fault.NETWORK) is None
    assert wait_s(run_of(facts, again), Fault.RATE_LIMITED) is not None
    assert BUDGET == 10


def test_runs_that_fail_together_do_not_come_back_together() -> None:
    runs = [run_of(begun(), calling(), run_id=f"nightly@20261201T06{minute:02}00Z") for minute in range(50)]
    waits = {again_at(run, Fault.RATE_LIMITED, 30.0, NOW) for run in runs}

    assert len(waits) == 50
    assert all(0 <= jitter(run) < 1 for run in runs)
    assert max(w for w in waits if w) - min(w for w in waits if w) > timedelta(milliseconds=500)


def test_a_chain_goes_on_with_the_next_model_and_stays_there() -> None:
    given_up = run_of(begun(), failed(Fault.AUTH, given_up=True), **OTHERS)
    taken_over = run_of(begun(), failed(Fault.AUTH, given_up=True), failed(Fault.NETWORK, 1, "other/model"), **OTHERS)

    assert next_step(given_up, NOW) == CallModel(1, "other/model")
    assert (taken_over.pin, taken_over.failures) == (TWO, 1)
    assert next_step(taken_over, NOW) == CallModel(1, "other/model")


def test_the_end_of_a_chain_is_the_end_of_the_run() -> None:
    facts = [*failed(Fault.AUTH, given_up=True), *failed(Fault.SPENT, 1, "other/model", given_up=True)]
    end = next_step(run_of(begun(), facts, **OTHERS), NOW)

    assert isinstance(end, Finish)
    assert (end.fault, end.partial, following(run_of(begun(), facts, **OTHERS))) == (Fault.SPENT, False, None)


def test_who_took_over_and_was_cut_off_is_asked_again_and_nobody_else() -> None:
    other = calling().model_copy(update={"model": TWO.name})
    state = run_of(begun(), failed(Fault.AUTH, given_up=True), other, acquired(2, broken=True), **OTHERS)

    assert next_step(state, NOW) == CallModel(1, TWO.name)
