"""When older iterations are folded, which of them, and who sums them up."""

from __future__ import annotations

from datetime import timedelta

import pytest

from kova_auto.core.context.compaction import is_in_vain, next_compaction
from kova_auto.core.fault import Fault
from kova_auto.core.message import TextPart, UserMessage
from kova_auto.core.pin import Capability, ModelPin
from kova_auto.core.run import RunState
from kova_auto.core.steps import Compact
from kova_auto.core.stop_reason import StopReason
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
from tests.core.facts import NOW, acquired, answered, run_of
from tests.support import says


def step_of(state: RunState, pin: ModelPin = SMALL) -> Compact:
    step = next_compaction(state, pin)
    assert step is not None
    return step


def failed(state: RunState, **more: object) -> RunState:
    """Return a run after one more attempt at a summary that came to nothing."""
    return after(state, asked(state, step_of(state, state.pin)), unsummed(state, **more))


def test_nothing_is_folded_while_the_next_request_has_room() -> None:
    assert next_compaction(filled(6, 7_000), SMALL) is None


def test_a_request_that_would_pass_the_limit_has_its_older_iterations_folded_first() -> None:
    step = step_of(filled(6, 7_950))

    assert (step.reason, step.model, step.trimmed, step.shown_from) == ("threshold", "test/model", False, 0)
    assert step.tokens == 7_950 + 104
    assert 0 < step.through < 6


def test_a_result_that_came_since_the_last_count_counts() -> None:
    facts = [*looked(1, 100), *looked(2, 4_000, chars=20_000)]
    assert step_of(run_of(acquired(), context(), facts, pins=(SMALL,))).tokens == 4_000 + 5_004


@pytest.mark.parametrize("exempt", ["scripted", "trims", "none yet"])
def test_some_runs_are_never_folded(exempt: str) -> None:
    state = filled(6, 9_000, scripted=exempt == "scripted")
    pin = ModelPin(name="test/model", capability=Capability(window=16_000, trims=exempt == "trims"))
    assert next_compaction(run_of(acquired()) if exempt == "none yet" else state, pin) is None


def test_of_a_model_that_nobody_knows_a_usual_window_is_taken() -> None:
    unknown = ModelPin(name="test/model")
    assert next_compaction(filled(6, 111_000), unknown) is None
    assert step_of(filled(6, 111_700), unknown).reason == "threshold"


@pytest.mark.parametrize(("chars", "kept"), [(400, 18), (2_000, 3), (4_000, 1), (16_000, 1), (18_000, 0)])
def test_the_newest_iterations_stay_as_far_as_there_is_room_and_whole(chars: int, kept: int) -> None:
    state = filled(1, 0, chars=chars)
    while next_compaction(state, SMALL) is None:
        state = after(state, looked(state.iteration + 1, 0, chars=chars))
    assert state.iteration - step_of(state).through == kept


def test_an_iteration_too_large_to_stay_is_folded_with_the_others() -> None:
    state = after(filled(3, 0), looked(4, 0, chars=31_500))
    assert step_of(state).through == 4


def test_what_was_cut_off_stays_with_what_it_goes_on_in() -> None:
    cut = says(f"One, two, {'x' * 7_000}", tokens=0).model_copy(update={"stop": StopReason.LENGTH})
    state = after(filled(5, 0, chars=5_000), answered(cut, 6), answered(cut, 7))
    assert step_of(state).through == 5


def test_where_the_provider_counts_more_than_we_guess_less_stays() -> None:
    guessed, counted = filled(6, 0, chars=6_000), filled(6, 16_000, chars=6_000)

    assert step_of(guessed).through < 6
    assert step_of(counted).through >= step_of(guessed).through
    assert step_of(counted).words < step_of(guessed).words


def test_where_the_room_is_tight_a_shorter_summary_is_wanted() -> None:
    facts = [event for number in range(1, 4) for event in looked(number, 0, chars=6_000)]
    tight = run_of(acquired(), context("x" * 18_000), facts, pins=(SMALL,))
    assert step_of(tight).words < step_of(filled(30, 0, chars=3_000)).words


def test_once_folded_the_same_request_is_not_folded_again() -> None:
    state = filled(6, 9_000)
    assert next_compaction(folded(state, step_of(state), share=0.95), SMALL) is None


def test_the_next_folding_begins_where_the_last_ended() -> None:
    state = filled(6, 9_000)
    first = step_of(state)
    state = after(folded(state, first), looked(7, 3_000), looked(8, 9_000))

    assert first.through < step_of(state).through < 8


def test_what_an_earlier_run_said_is_folded_though_this_one_has_said_nothing() -> None:
    history = (UserMessage(parts=(TextPart(text="x" * 40_000),)),)
    step = step_of(run_of(acquired(), context(history=history), pins=(SMALL,)))

    assert (step.through, step.model) == (0, "test/model")


def test_an_overflow_has_it_folded_whatever_we_had_guessed_and_once() -> None:
    state = overflowed(filled(6, 3_000))
    step = step_of(state)
    assert (step.reason, step.tokens) == ("overflow", 16_000)

    again = overflowed(folded(state, step))
    assert next_compaction(again, SMALL) is None


def test_a_single_iteration_that_overflows_is_folded() -> None:
    assert step_of(overflowed(filled(1, 3_000))).through == 1


def test_an_overflow_with_nothing_said_leaves_nothing_to_fold() -> None:
    state = overflowed(run_of(acquired(), context(), pins=(SMALL,)))
    assert next_compaction(state, SMALL) is None


def test_where_not_all_fits_the_oldest_is_left_out_and_what_is_long_is_cut() -> None:
    step = step_of(filled(30, 0, chars=3_000))
    assert (step.trimmed, 0 < step.shown_from <= step.through) == (True, True)


def test_an_attempt_that_came_to_nothing_is_made_with_less_and_then_without_a_model() -> None:
    state = filled(30, 7_950)
    whole = step_of(state)
    less = step_of(state := failed(state))
    fresh = step_of(failed(state))

    assert (whole.trimmed, less.trimmed, less.model) == (False, True, "test/model")
    assert less.shown_from > 1
    assert (fresh.model, fresh.through, fresh.tokens) == ("", whole.through, whole.tokens)


def test_an_attempt_that_is_to_be_repeated_is_the_same() -> None:
    state = filled(6, 9_000)
    later = failed(state, retry_at=NOW + timedelta(seconds=2), fault=Fault.SERVER)
    assert step_of(later) == step_of(state)


def test_a_provider_that_is_given_up_leaves_it_to_the_next_model_and_then_to_none() -> None:
    state = failed(filled(6, 9_000, pins=(SMALL, OTHER)), fault=Fault.AUTH)
    assert step_of(state).model == "other/model"
    assert step_of(failed(state, fault=Fault.AUTH), OTHER).model == ""


def test_where_even_the_shortest_summary_would_not_help_none_is_asked_for() -> None:
    facts = [event for number in range(1, 4) for event in looked(number, 0)]
    state = run_of(acquired(), context("x" * 31_000), facts, pins=(SMALL,))
    assert step_of(state).model == ""


@pytest.mark.parametrize(
    ("shares", "counted", "vain"),
    [
        ((0.9, 0.9), (0, 0), True),
        ((0.3, 0.9), (0, 0), False),
        ((0.9, 0.3), (0, 0), False),
        ((0.3, 0.3), (8_900, 8_900), True),
        ((0.9, 0.9), (8_900, 3_000), False),
    ],
)
def test_two_foldings_in_a_row_that_make_the_request_no_smaller_are_in_vain(
    shares: tuple[float, float], counted: tuple[int, int], vain: bool
) -> None:
    state = filled(6, 9_000)
    for share, tokens in zip(shares, counted, strict=True):
        assert not is_in_vain(state)
        folding = Compact(state.iteration - 1, "threshold", 9_000)
        state = folded(state, folding, share=share)
        state = after(state, looked(state.iteration + 1, tokens))
    assert is_in_vain(state) is vain
