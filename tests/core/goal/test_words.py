"""What a run is told of its goal, and how it is shown to people."""

from __future__ import annotations

import pytest

from kova_auto.core.context.asides import SILENT, asides
from kova_auto.core.criterion import CriterionResult
from kova_auto.core.event import ContextAssembled
from kova_auto.core.goal.contract import Author, Phase
from kova_auto.core.goal.view import CriterionView, GoalStatus, GoalView, goal_view
from kova_auto.core.goal.words import LONGEST_OBJECTIVE, WRAP_UP, go_on, goal_block, objective_of
from kova_auto.core.job import Outcome
from kova_auto.core.message import TextPart
from kova_auto.core.run import RunState, apply
from tests.core.facts import NOW, acquired, calling, ended, run_of
from tests.core.goal.goals import (
    GIVEN,
    Move,
    a_goal_job,
    a_goal_run,
    completed,
    did,
    failed,
    moved,
    not_completed,
    proposed,
    said_blocked,
    while_asked,
)
from tests.support import a_job

JUDGE = "Once every criterion is met, call goal_complete. If nothing gets you past what blocks you, call goal_blocked."
MET, FAILS = (
    CriterionResult(id="c1", met=True, evidence="README:3"),
    CriterionResult(id="c2", met=False, evidence="1 failed"),
)


def test_after_a_turn_the_objective_and_what_is_not_met_are_said_again() -> None:
    assert go_on(a_goal_run(did(), not_completed(MET, FAILS), "So far.")) == (
        "The goal is not reached yet: that was turn 1 of 30. Go on working, as far as you can get.\n\n"
        "The objective:\nLook around.\n\n"
        "Not yet found met:\n- c2: the command `pytest -q` ends with exit code 0\n\n" + JUDGE
    )


@pytest.mark.parametrize(
    ("run", "says"),
    [
        pytest.param(
            a_goal_run("So."), "- c1: the README explains the flag\n- c2: the command `pytest -q` ", id="none"
        ),
        pytest.param(
            a_goal_run("So.", job=a_goal_job()), "No criteria stand yet: call goal_propose_criteria.", id="pending"
        ),
        pytest.param(
            a_goal_run(proposed("it is green"), "So.", job=a_goal_job()),
            "Not yet found met:\n- c1: it is green\n",
            id="own",
        ),
        pytest.param(
            a_goal_run(proposed(), "So.", job=a_goal_job()),
            "There are no criteria: the objective alone counts.",
            id="skipped",
        ),
        pytest.param(
            a_goal_run(did(), completed("So.", [MET, FAILS.model_copy(update={"met": True})]), did(), "So."),
            "All criteria were found met, but goal_complete was not accepted, or things were changed behind it.",
            id="changed afterwards",
        ),
        pytest.param(
            a_goal_run("A.", "B.", job=a_goal_job("x", turns=3)),
            "turn 2 of 3, and the next is the last.",
            id="last turn",
        ),
    ],
)
def test_what_is_said_again_follows_from_how_far_the_run_is(run: RunState, says: str) -> None:
    assert says in go_on(run)


def test_a_long_objective_is_said_again_in_part() -> None:
    def asked(prompt: str) -> RunState:
        parts = (TextPart(text=prompt), TextPart(text="[file a.md]\n..."))
        return run_of(acquired(), ContextAssembled(at=NOW, system="", prompt=parts, tools=()), job=a_goal_job("x"))

    assert objective_of(asked(" Do it. \n")) == "Do it."
    assert objective_of(asked("x" * LONGEST_OBJECTIVE)) == "x" * LONGEST_OBJECTIVE
    assert objective_of(asked("x" * (LONGEST_OBJECTIVE + 1))) == "x" * (LONGEST_OBJECTIVE - 1) + "…"


@pytest.mark.parametrize(
    ("moves", "told"),
    [
        (("So.",), [go_on(a_goal_run("So."))]),
        ((" ",), [SILENT]),
        ((did(),), []),
        ((did(), completed()), []),
        ((did(), completed(), "Done."), []),  # Its answer is put right, where it does not fit.
        ((did(), completed(), did(), "So."), [go_on(a_goal_run(did(), completed(), did(), "So."))]),
    ],
)
def test_it_is_told_between_turns_alone(moves: tuple[Move, ...], told: list[str]) -> None:
    assert [*asides(a_goal_run(*moves), 0.0).texts] == told


def test_what_was_told_before_a_reply_that_never_came_is_told_again_word_by_word() -> None:
    run = a_goal_run("So.")
    begun = apply(run, calling(2).model_copy(update={"asides": ("Said before.",)}))

    assert asides(apply(begun, acquired(2)), 0.0).texts == ("Said before.",)


def test_in_another_mode_nothing_is_told_of_a_goal() -> None:
    assert asides(a_goal_run("So.", job=a_job()), 0.0).texts == ()


def test_a_run_that_is_to_come_to_an_end_may_still_reach_its_goal() -> None:
    texts = asides(a_goal_run(did(), "So."), 19 * 60.0).texts

    assert (len(texts), texts[0].startswith("The goal is not reached yet"), texts[2]) == (3, True, WRAP_UP)


def test_what_is_told_first_holds_the_criteria_and_counts_nothing() -> None:
    named, own = goal_block(a_goal_job(*GIVEN), is_attended=True), goal_block(a_goal_job(), is_attended=False)

    assert named.endswith("\n- c1: the README explains the flag\n- c2: the command `pytest -q` ends with exit code 0")
    assert "goal_propose_criteria" not in named
    assert ("goal_propose_criteria" in own, "A person" in own) == (True, False)
    assert "A person sees them" in goal_block(a_goal_job(), is_attended=True)
    assert goal_block(a_goal_job(*GIVEN, turns=7), is_attended=True) == named


def viewed(run: RunState) -> GoalView:
    view = goal_view(run)
    assert view is not None
    return view


def test_a_goal_is_shown_with_what_each_criterion_came_to() -> None:
    run = a_goal_run(did(), "Half.", did(), not_completed(MET, FAILS))

    assert viewed(run) == GoalView(
        objective="Look around.",
        status=GoalStatus.ACTIVE,
        phase=Phase.CONFIRMED,
        author=Author.JOB,
        turn=2,
        turns=30,
        criteria=(
            CriterionView(id="c1", text="the README explains the flag", command=None, met=True, evidence="README:3"),
            CriterionView(id="c2", text="", command="pytest -q", met=False, evidence="1 failed"),
        ),
        summary="So far.",
    )


@pytest.mark.parametrize(
    ("run", "status"),
    [
        pytest.param(run_of(job=a_goal_job()), GoalStatus.ACTIVE, id="asked for"),
        pytest.param(a_goal_run(did(), completed()), GoalStatus.COMPLETE, id="accepted"),
        pytest.param(a_goal_run(did(), completed(), did()), GoalStatus.ACTIVE, id="changed"),
        pytest.param(a_goal_run(said_blocked(accepted=True)), GoalStatus.BLOCKED, id="blocked"),
        pytest.param(apply(a_goal_run(did(), completed(), "So."), ended()), GoalStatus.COMPLETE, id="done"),
        pytest.param(
            apply(a_goal_run(did(), completed(), "So."), ended(Outcome.NOTHING_TO_REPORT)),
            GoalStatus.COMPLETE,
            id="quiet",
        ),
        pytest.param(
            apply(a_goal_run(said_blocked(accepted=True), "So."), ended(Outcome.BLOCKED)),
            GoalStatus.BLOCKED,
            id="ended blocked",
        ),
        pytest.param(apply(a_goal_run(did()), ended(Outcome.BLOCKED)), GoalStatus.GIVEN_UP, id="denied too often"),
        pytest.param(apply(a_goal_run("So."), ended(Outcome.FAILED)), GoalStatus.GIVEN_UP, id="stalled"),
        pytest.param(a_goal_run(did(), failed()), GoalStatus.GIVEN_UP, id="failed"),
    ],
)
def test_a_goal_is_shown_as_what_has_become_of_it(run: RunState, status: GoalStatus) -> None:
    assert viewed(run).status is status


def test_a_goal_shows_who_stands_behind_its_criteria_and_what_blocks_it() -> None:
    asked = run_of(while_asked("it is green"), job=a_goal_job(), level="auto")
    blocked = a_goal_run(proposed("it is green"), said_blocked("no key", accepted=True), job=a_goal_job())

    assert (viewed(asked).phase, [one.text for one in viewed(asked).criteria]) == (Phase.PROPOSED, ["it is green"])
    assert (viewed(blocked).author, viewed(blocked).blocker) == (Author.MODEL, "the goal is blocked: no key")


def test_a_run_in_another_mode_shows_no_goal() -> None:
    assert goal_view(run_of(moved("So."), job=a_job())) is None
