"""A run's loop as a person reads it."""

from __future__ import annotations

from kova_auto.cli.ink import Ink
from kova_auto.cli.loop import loop_lines
from kova_auto.core.approval.levels import Decision
from kova_auto.core.job import Outcome
from kova_auto.core.loop_view import loop_view
from kova_auto.core.message import Usage
from tests.story import Story
from tests.support import a_request, call, says


def lines(story: Story) -> list[str]:
    return list(loop_lines(loop_view(story.events), Ink()))


def test_the_loop_is_drawn_with_its_end() -> None:
    billed = Usage(input_tokens=7, output_tokens=2, cost_usd=0.25)
    story = Story().fails("busy", usage=billed).says(says("I look.", call("look", path="a"), call("change")))
    story.does("1.1", "seen").waits("1.2").answers("1.2", Decision.DENY)
    assert lines(story) == [
        "run nightly@20261201T060000Z",
        "├─ iteration 1  6.0 s · 17 in, 2 out · 0.2510 USD",
        "│    no reply (ModelUnavailable, 9 tokens all the same): busy",
        "│    I look.",
        '│    → look {"path": "a"}  allow test.allow',
        "│    ← ok: seen",
        "│    → change {}  ask test.ask, answered by ada",
        "└─ running: it goes on",
        "   10.0 s · 19 tokens · 0.2510 USD",
    ]


def test_attempts_are_kept_apart() -> None:
    story = Story().says(says("One.", cost_usd=None)).ends(Outcome.FAILED, reason="because").again().asks()
    assert [line for line in lines(story) if "attempt" in line or "iteration" in line or "└" in line] == [
        "├─ iteration 1  1.0 s · 10 in, 0 out · cost unknown",
        "── attempt 2, asked for by ada",
        "├─ iteration 2  0.0 s",
        "└─ running: it goes on",
    ]


def test_a_scripted_loop_says_so() -> None:
    assert lines(Story(a_request(scripted=True)))[0].endswith("scripted: no model was called")
