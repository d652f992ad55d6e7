"""How a model is asked next: whether older iterations go first, which model has room, and when it is in vain."""

from __future__ import annotations

from datetime import timedelta

import pytest

from kova_auto.core.context.compaction import next_compaction
from kova_auto.core.fault import Fault
from kova_auto.core.job import Outcome
from kova_auto.core.limits import running_s
from kova_auto.core.message import ToolSpec
from kova_auto.core.pin import Capability, ModelPin
from kova_auto.core.price import Price
from kova_auto.core.run import RunState
from kova_auto.core.step import next_step
from kova_auto.core.steps import AwaitUntil, CallModel, Compact, Finish
from kova_auto.core.view import run_row
from tests.core.context.foldings import (
    OTHER,
    SMALL,
    after,
    asked,
    context,
    filled,
    folded,
    looked,
    overflowed,
    unsummed,
)
from tests.core.facts import NOW, acquired, run_of, stop
from tests.support import a_job

LARGE = ModelPin(name="large/model", capability=Capability(window=1_000_000))
UNKNOWN = ModelPin(name="unknown/model")


def folding(state: RunState) -> Compact:
    step = next_step(state, NOW)
    assert isinstance(step, Compact)
    return step


def too_much(*pins: ModelPin) -> RunState:
    """Return a run whose system prompt alone fills a small window."""
    return run_of(acquired(), context("x" * 40_000), pins=pins)


def test_a_run_whose_window_is_nearly_full_folds_first_and_then_asks() -> None:
    state = filled(6, 9_000)
    step = folding(state)
    assert (step.model, step.max_output_tokens) == ("test/model", 4_000)
    assert next_step(folded(state, step), NOW) == CallModel(7, "test/model")


def test_a_run_that_is_to_end_folds_nothing() -> None:
    step = next_step(after(filled(6, 9_000), stop()), NOW)
    assert isinstance(step, Finish)


@pytest.mark.parametrize(
    ("limits", "pin", "reason"),
    [
        ({"iterations": 6}, SMALL, "limits.iterations = 6 is reached"),
        ({"tokens": 54_100}, SMALL, "54000 tokens were used, and the next call would pass limits.tokens = 54100"),
        (
            {"cost_usd": 0.01},
            SMALL.model_copy(update={"price": Price(input=1.0, output=5.0)}),
            "0.0100 USD are left, and the next call would pass limits.cost_usd = 0.01",
        ),
    ],
)
def test_a_summary_passes_no_ceiling(limits: dict[str, object], pin: ModelPin, reason: str) -> None:
    step = next_step(filled(6, 9_000, pins=(pin,), job=a_job(limits=limits)), NOW)
    assert step == Finish(Outcome.BUDGET_EXCEEDED, "Hm.", reason, partial=True)


def test_a_summary_is_bounded_to_what_is_left() -> None:
    used, told = 6 * 9_000, 104 + 9_000 + 600
    assert folding(filled(6, 9_000, job=a_job(limits={"tokens": used + told + 1_000}))).max_output_tokens == 1_000


def test_an_attempt_that_is_to_be_made_later_is_waited_for_and_that_is_no_running_time() -> None:
    state = filled(6, 9_000)
    later = NOW + timedelta(minutes=5)
    waits = after(state, asked(state, folding(state)), unsummed(state, retry_at=later, fault=Fault.RATE_LIMITED))

    assert next_step(waits, NOW) == AwaitUntil(later)
    assert (run_row(waits).wake_at, run_row(waits).resting) == (later, True)
    assert running_s(waits, later + timedelta(seconds=1)) == waits.ran_s + 1
    assert next_step(waits, later) == next_step(state, NOW)


def test_two_foldings_in_vain_end_the_run_and_it_says_what_fills_the_window() -> None:
    state = filled(6, 9_000)
    for _ in range(2):
        state = folded(state, folding(state), share=0.9)
        state = after(state, looked(state.iteration + 1, 9_000))

    step = next_step(state, NOW)
    assert isinstance(step, Finish)
    assert (step.outcome, step.partial, step.fault) == (Outcome.FAILED, True, None)
    assert step.reason.startswith("compaction_ineffective: two compactions in a row made the requests hardly smaller: ")
    assert "of the 8,000 tokens that a request to test/model may have, the system prompt and the tools" in step.reason


def test_what_is_in_every_request_and_does_not_fit_blocks_the_run_before_any_call() -> None:
    step = next_step(too_much(SMALL), NOW)

    assert isinstance(step, Finish)
    assert step.outcome is Outcome.BLOCKED
    assert step.reason == (
        "the system prompt and the tools are about 10,000 tokens and the prompt is 7: a request to test/model may have "
        "8,000 (its window of 16,000, less 8,000 for its reply); take a model with a larger window, or give it less to "
        "read"
    )


def test_the_descriptions_of_tools_count() -> None:
    tools = (ToolSpec(name="wordy", description="x" * 32_000, parameters={}),)
    step = next_step(run_of(acquired(), context(tools=tools), pins=(SMALL,)), NOW)
    assert isinstance(step, Finish)
    assert step.outcome is Outcome.BLOCKED


@pytest.mark.parametrize("pins", [(SMALL, LARGE), (SMALL, OTHER, LARGE), (LARGE, SMALL)])
def test_the_first_model_that_has_room_is_asked(pins: tuple[ModelPin, ...]) -> None:
    step = next_step(too_much(*pins), NOW)
    assert isinstance(step, CallModel)
    assert step.model == "large/model"


def test_where_nobody_knows_the_window_its_provider_says_what_is_too_much() -> None:
    state = run_of(acquired(), context("x" * 600_000), pins=(UNKNOWN,), job=a_job(limits={"tokens": 1_000_000}))
    assert next_step(state, NOW) == CallModel(1, "unknown/model")


def test_a_second_overflow_ends_the_run_or_is_the_next_models() -> None:
    for pins, model in (((SMALL,), None), ((SMALL, OTHER), "other/model")):
        state = overflowed(filled(6, 3_000, pins=pins))
        state = overflowed(folded(state, folding(state)))
        step = next_step(state, NOW)
        if model is None:
            assert isinstance(step, Finish)
            assert (step.outcome, step.fault) == (Outcome.FAILED, Fault.OVERFLOW)
            assert step.reason.startswith("ContextOverflow: too long (of the 8,000 tokens that a request to test/model")
        else:
            assert isinstance(step, CallModel)
            assert step.model == model


def test_a_model_that_takes_over_with_a_smaller_window_has_older_iterations_folded_by_it() -> None:
    state = filled(6, 9_000, pins=(LARGE, OTHER), model="large/model")
    assert next_compaction(state, LARGE) is None
    given_up = overflowed(state, fault=Fault.AUTH)
    step = folding(given_up)
    assert step.model == "other/model"

    taken_over = folded(given_up, step)
    assert next_step(taken_over, NOW) == CallModel(7, "other/model")
