"""A final text that asks its reader something is not the end of the work."""

from __future__ import annotations

import pytest

from kova_auto.core.closing import asks_reader
from kova_auto.core.job import Outcome
from kova_auto.core.step import next_step
from kova_auto.core.steps import Finish
from tests.core.facts import answered, begun, run_of
from tests.support import at, says


@pytest.mark.parametrize(
    "text",
    [
        "Shall I go on?",
        "I found three failing tests.\n\nShould I fix them?",
        "Done with the first half. Would you like me to do the rest?",
        "**Which branch do you want?**",
        "Two ways are open.\n\n- keep it\n- drop it\n\nWhat would you prefer? ",
        "The file is not there. Can I create it?\n",
        "I am ready. Do you want me to push (y/n)?",
    ],
)
def test_a_question_to_the_reader_at_the_end_asks(text: str) -> None:
    assert asks_reader(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "All is well.",
        "Why did it fail? The disk was full.",
        "Shall I go on? I did, since nobody was there.",
        "## What changed?\n\n- one commit",
        "The page asks: what is a monad?",
        "You may want to look at it.",
        "Should I have asked you? I assumed main.\n\nThe release is ready.",
    ],
)
def test_other_texts_do_not(text: str) -> None:
    assert not asks_reader(text)


def test_an_unattended_run_that_ends_with_a_question_needs_input() -> None:
    facts = [*begun(), *answered(says("Shall I go on?"))]

    assert next_step(run_of(facts), at("06:00:03")) == Finish(
        Outcome.NEEDS_INPUT, "Shall I go on?", "its answer ends with a question, and nobody was there to answer"
    )


def test_an_attended_run_may_end_with_a_question() -> None:
    facts = [*begun(), *answered(says("Shall I go on?"))]

    assert next_step(run_of(facts, level="ask"), at("06:00:03")) == Finish(Outcome.DONE, "Shall I go on?")
