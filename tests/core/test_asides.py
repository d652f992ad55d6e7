"""What the model is told between its replies."""

from __future__ import annotations

import pytest

from kova_auto.core.context.asides import CIRCLES, CUT, CUT_AGAIN, SILENT, WRAP_UP, Asides, asides
from kova_auto.core.event import Event
from kova_auto.core.job import Outcome
from kova_auto.core.step import next_step
from kova_auto.core.steps import CallModel, Finish
from kova_auto.core.stop_reason import StopReason
from tests.core.facts import NOW, answered, asks_for, begun, calling, ran, run_of
from tests.core.test_repetition import A, made
from tests.support import a_job, says


def cut(text: str, iteration: int, stop: StopReason = StopReason.LENGTH) -> list[Event]:
    """Return a reply that did not end by its own will."""
    return answered(says(text).model_copy(update={"stop": stop}), iteration)


def told(*texts: str) -> Asides:
    return Asides(texts)


def test_a_reply_that_was_cut_off_goes_on_three_times_and_is_one_answer() -> None:
    once, twice = run_of(begun(), cut("One, ", 1)), run_of(begun(), cut("One, ", 1), cut("two, ", 2))
    whole = run_of(begun(), cut("One, ", 1), cut("two, ", 2), cut("three, ", 3), answered(says("four."), 4))
    endless = run_of(begun(), *(cut(f"{number}, ", number) for number in range(1, 5)))

    assert (asides(once, 0.0), asides(twice, 0.0)) == (told(CUT), told(CUT_AGAIN))
    assert next_step(whole, NOW) == Finish(Outcome.DONE, "One, two, three, four.")
    assert next_step(endless, NOW) == Finish(
        Outcome.FAILED,
        "1, 2, 3, 4, ",
        "the model's output limit cut its reply off, time and again",
        partial=True,
    )


def test_a_reply_that_paused_goes_on_without_a_word_and_not_for_ever() -> None:
    paused = run_of(begun(), cut("One, ", 1, StopReason.PAUSED))
    done = run_of(begun(), cut("One, ", 1, StopReason.PAUSED), answered(says("two."), 2))
    endless = run_of(begun(), *(cut("", number, StopReason.PAUSED) for number in range(1, 7)))

    assert (asides(paused, 0.0), next_step(paused, NOW)) == (told(), CallModel(2, "test/model"))
    assert next_step(done, NOW) == Finish(Outcome.DONE, "One, two.")
    assert next_step(endless, NOW) == Finish(Outcome.FAILED, "", "the provider paused 6 times in a row", partial=True)


def test_a_model_that_says_nothing_is_nudged_once() -> None:
    assert asides(run_of(begun(), answered(says(" "))), 0.0) == told(SILENT)


def test_a_model_that_repeats_itself_is_told() -> None:
    assert asides(made(A, A), 0.0) == told()
    assert asides(made(A, A, A), 0.0) == told(CIRCLES.format(tools="read", times=3))


@pytest.mark.parametrize(
    ("limits", "ran_s", "what"),
    [
        ({"cost_usd": 0.00125}, 0.0, "80% of the money it may spend"),
        ({"iterations": 2}, 0.0, "99% of the replies it may have"),
        ({"timeout": "10m"}, 480.0, "80% of its running time"),
    ],
)
def test_at_four_fifths_of_a_ceiling_the_model_is_told_to_come_to_an_end(
    limits: dict[str, object], ran_s: float, what: str
) -> None:
    state = run_of(asks_for("bash"), ran(), job=a_job(limits=limits))
    used, _, rest = what.partition("% of ")

    assert asides(state, ran_s) == Asides((WRAP_UP.format(used=int(used) / 100, what=rest),), hurries=True)
    assert asides(run_of(asks_for("bash"), ran()), 0.0) == told()


def test_it_is_told_once_and_what_it_says_then_is_marked_as_partial() -> None:
    hurried = calling(2).model_copy(update={"asides": ("Come to an end.",), "hurries": True})
    job = a_job(limits={"iterations": 4})
    again = run_of(asks_for("bash"), ran(), hurried, job=job)
    done = run_of(asks_for("bash"), ran(), hurried, answered(says("So far."), 2)[1:], job=job)

    assert asides(again, 1e9) == told("Come to an end.")
    assert asides(done, 1e9) == told()
    assert next_step(done, NOW) == Finish(Outcome.DONE, "So far.", partial=True)


def test_two_calls_that_are_cut_off_in_a_row_are_the_end() -> None:
    first = says("Let me write.", *says("", *made(A).replies[0].reply.calls).calls)
    length = first.model_copy(update={"stop": StopReason.LENGTH})
    once = run_of(begun(), answered(length), ran())
    twice = [*begun(), *answered(length), *ran(), *answered(length, 2)]

    assert next_step(once, NOW) == CallModel(2, "test/model")
    end = next_step(run_of(twice, ran(run_of(twice).open_calls[0])), NOW)
    assert isinstance(end, Finish)
    assert (end.outcome, end.partial, "output limit" in end.reason) == (Outcome.FAILED, True, True)
