"""A goal in a run's loop: its turns, by what it is judged, and what that came to."""

from __future__ import annotations

from zoneinfo import ZoneInfo

from kova_auto.cli.ink import Ink
from kova_auto.cli.loop import loop_lines
from kova_auto.core.criterion import CriterionResult
from kova_auto.core.loop.values import InterludeKind, LoopView
from kova_auto.core.loop.view import loop_view
from kova_auto.core.run import fold
from kova_auto.core.transcript.markdown import markdown
from kova_auto.core.transcript.told import told_in
from tests.core.goal.goals import GIVEN, a_goal_job, did, moved, not_completed, proposed
from tests.support import a_request

JUDGED = (CriterionResult(id="c1", met=True, evidence="README, line 3"), CriterionResult(id="c2", met=False))
REQUEST = a_request(job=a_goal_job(*GIVEN))
EVENTS = [REQUEST, *moved(proposed("it works"), (did(), did()), "I changed it.", not_completed(*JUDGED), "Not yet.")]


def shown() -> LoopView:
    return loop_view(EVENTS)


def test_turns_and_what_was_judged_stand_between_the_iterations() -> None:
    assert [(told.before, told.text) for told in shown().interludes if told.kind is InterludeKind.GOAL] == [
        (2, "it is to be judged by: it works"),
        (4, "turn 1 of 30 ended"),
        (5, "it was called reached: c1 met, c2 not met"),
        (6, "turn 2 of 30 ended"),
    ]


def test_the_loop_ends_with_how_far_the_goal_is() -> None:
    lines = list(loop_lines(shown(), ZoneInfo("UTC"), Ink()))
    place = lines.index("├─ goal active, turn 2 of 30: Look around.")
    assert lines[place + 1 : place + 3] == [
        "│    c1 met  the README explains the flag: README, line 3",
        "│    c2 not met  `pytest -q` ends well",
    ]


def test_a_transcript_holds_the_goal() -> None:
    text = "\n\n".join(markdown(fold(EVENTS), shown(), told_in(EVENTS), ZoneInfo("UTC")))
    assert "## Goal\n\n**active**, turn 2 of 30\n\n> Look around." in text
    assert "- **not met**: `pytest -q`" in text
