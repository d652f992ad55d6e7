"""What comes after each turn of a run with a goal: its end and why, or the next turn."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from kova_auto.core.criterion import CriterionResult
from kova_auto.core.event import Event
from kova_auto.core.goal.ending import Conclusion, conclusion
from kova_auto.core.job import Outcome
from kova_auto.core.message import ResultStatus
from kova_auto.core.run import RunState, apply
from kova_auto.core.state import replace
from kova_auto.core.step import next_step
from kova_auto.core.steps import BeginAgain, CallModel, Finish
from tests.core.facts import NOW, answered, calling, retried, run_of
from tests.core.facts import ended as finished
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
    quiet,
    refused,
    said_blocked,
)
from tests.support import says

LEFT = "; not met: c1, c2"
STALLED = f"it stalled: 3 turns in a row did nothing and ended in the same words{LEFT}"
IDLE = "in 3 turns in a row it never said by what its goal is to be judged"
NEARLY = f"what it may use was nearly used up before the goal was reached{LEFT}"
MET = (CriterionResult(id="c1", met=True, evidence="README:3"), CriterionResult(id="c2", met=True, by_command=True))


def end(outcome: Outcome, answer: str, reason: str = "") -> Finish:
    partial = outcome not in (Outcome.DONE, Outcome.NOTHING_TO_REPORT, Outcome.BLOCKED)
    return Finish(outcome, answer, reason, partial=partial)


def gave_up(answer: str, reason: str = "the page is gone") -> Finish:
    return Finish(Outcome.FAILED, answer, f"the model says that it failed: {reason}")


def goes_on(iteration: int) -> CallModel:
    return CallModel(iteration, "test/model")


@pytest.mark.parametrize(
    ("moves", "step"),
    [
        pytest.param(("Done.",), goes_on(2), id="its word alone ends nothing"),
        pytest.param((did(), "Done."), goes_on(3), id="nor does work"),
        pytest.param((did(), not_completed(), "Done."), goes_on(4), id="nor what was not accepted"),
        pytest.param((did(), completed()), goes_on(3), id="its last word is asked for"),
        pytest.param((did(), completed(), "Done."), end(Outcome.DONE, "Done."), id="accepted"),
        pytest.param((did(), completed("All."), " "), end(Outcome.DONE, "All."), id="accepted, without a last word"),
        pytest.param((did(), completed(), did("read"), "Done."), end(Outcome.DONE, "Done."), id="looked once more"),
        pytest.param((did(), completed(), did("edit"), "Done."), goes_on(5), id="changed something afterwards"),
        pytest.param(
            (did(), completed(), did("edit"), completed(), "Done."), end(Outcome.DONE, "Done."), id="judged again"
        ),
        pytest.param((did(), completed(), not_completed(), "Done."), goes_on(5), id="judged again, and refused"),
        pytest.param((did(), quiet(), "Nothing."), goes_on(4), id="nothing to report, and not reached"),
        pytest.param(
            (did(), completed(), quiet(), "Nothing."), end(Outcome.NOTHING_TO_REPORT, "Nothing."), id="reached, quietly"
        ),
        pytest.param((did(), quiet(), completed(), "Much."), end(Outcome.DONE, "Much."), id="something after all"),
        pytest.param((did(), failed(), "It is gone."), gave_up("It is gone."), id="failed"),
        pytest.param((did(), failed(), " "), gave_up(""), id="failed without a last word"),
        pytest.param((did(), failed(), did("read"), "Oh."), gave_up("Oh."), id="failed, and looked once more"),
        pytest.param((did(), failed(), quiet(), "Oh."), gave_up("Oh."), id="failed is never quiet"),
        pytest.param((did(), quiet(), failed(), "Oh."), gave_up("Oh."), id="quiet, and failed after all"),
        pytest.param((did(), completed(), failed(), "Oh."), gave_up("Oh."), id="failed after all"),
        pytest.param((said_blocked(accepted=True), failed(), "Oh."), gave_up("Oh."), id="blocked, and failed"),
        pytest.param(
            (failed("no page"), failed(" no file "), "Oh."), gave_up("Oh.", "no file"), id="failed for another reason"
        ),
        pytest.param(
            (did(), failed(), said_blocked("no key", accepted=True), "No key."),
            end(Outcome.BLOCKED, "No key.", "the goal is blocked: no key"),
            id="failed, or rather blocked",
        ),
        pytest.param((did(), refused("report_failure"), "Oh."), goes_on(4), id="failed, and was refused"),
        pytest.param((did(), failed(), did(), "There."), goes_on(5), id="found another way"),
        pytest.param((did(), failed(), completed(), "There."), end(Outcome.DONE, "There."), id="reached after all"),
        pytest.param((said_blocked(), "No key."), goes_on(3), id="blocked once"),
        pytest.param(
            (said_blocked("no key", accepted=True), "No key."),
            end(Outcome.BLOCKED, "No key.", "the goal is blocked: no key"),
            id="blocked",
        ),
        pytest.param(
            (said_blocked(accepted=True), quiet(), "No key."),
            end(Outcome.BLOCKED, "No key.", "the goal is blocked: no key"),
            id="blocked is never quiet",
        ),
        pytest.param((said_blocked(accepted=True), did("bash"), "So."), goes_on(4), id="it went on all the same"),
        pytest.param(("So.", "So."), goes_on(3), id="twice the same words"),
        pytest.param(("So.", "So.", "S o."), end(Outcome.FAILED, "S o.", STALLED), id="stalled"),
        pytest.param(("So.", "So.", did("read"), "So."), goes_on(5), id="no stall after work"),
        pytest.param((" ",), goes_on(2), id="silent once"),
        pytest.param(
            ("So.", " ", " "),
            Finish(Outcome.FAILED, "", "the model ended its turn without a word, twice"),
            id="silent twice",
        ),
        pytest.param((" ", "So.", " "), goes_on(4), id="silent now and then"),
    ],
)
def test_after_each_turn_a_run_ends_or_goes_on(moves: tuple[Move, ...], step: Finish | CallModel) -> None:
    assert next_step(a_goal_run(*moves), NOW) == step


@pytest.mark.parametrize(
    ("moves", "step"),
    [
        (("A.", "B."), goes_on(3)),
        (("A.", did("read"), "B.", "C."), end(Outcome.FAILED, "C.", IDLE)),
        (("A.", proposed("x"), "B.", "C."), goes_on(5)),
        (("A.", refused("goal_propose_criteria"), "B.", "C.", "D."), goes_on(6)),
        (("A.", refused("goal_propose_criteria"), "B.", "C.", "D.", "E."), end(Outcome.FAILED, "E.", IDLE)),
    ],
)
def test_a_run_that_never_says_by_what_it_is_judged_fails(moves: tuple[Move, ...], step: Finish | CallModel) -> None:
    assert next_step(a_goal_run(*moves, job=a_goal_job()), NOW) == step


@pytest.mark.parametrize("turns", [1, 2, 5])
def test_the_cap_on_turns_ends_a_run(turns: int) -> None:
    job = a_goal_job(*GIVEN, turns=turns)
    words = [f"Turn {number}." for number in range(1, turns + 1)]
    reason = f"its last turn is over (goal.turns = {turns}){LEFT}"

    assert next_step(a_goal_run(*words, job=job), NOW) == end(Outcome.BUDGET_EXCEEDED, words[-1], reason)
    assert next_step(a_goal_run(*words[:-1], job=job), NOW) == goes_on(turns)
    assert next_step(a_goal_run(*words[:-1], completed(), "So.", job=job), NOW) == end(Outcome.DONE, "So.")


def test_the_cap_comes_before_the_stall_and_the_stall_before_the_missing_contract() -> None:
    capped, stalled = a_goal_job(turns=3), a_goal_job()

    assert next_step(a_goal_run("A.", "A.", "A.", job=capped), NOW) == end(
        Outcome.BUDGET_EXCEEDED, "A.", "its last turn is over (goal.turns = 3)"
    )
    assert next_step(a_goal_run("A.", "A.", "A.", job=stalled), NOW) == end(
        Outcome.FAILED, "A.", "it stalled: 3 turns in a row did nothing and ended in the same words"
    )


def test_only_what_was_not_found_met_is_named() -> None:
    found = not_completed(CriterionResult(id="c1", met=True), CriterionResult(id="c2", met=False))
    run = a_goal_run(did(), found, "So.", job=a_goal_job(*GIVEN, turns=1))

    assert next_step(run, NOW) == end(
        Outcome.BUDGET_EXCEEDED, "So.", "its last turn is over (goal.turns = 1); not met: c2"
    )


def hurried(*moves: Move, last: str) -> RunState:
    """Return a run that was told to come to an end before its last word."""
    events: list[Event] = moved(*moves)
    told = calling(len(moves) + 1).model_copy(update={"hurries": True})
    return run_of(events, told, answered(says(last), len(moves) + 1)[1], job=a_goal_job(*GIVEN))


def test_a_run_told_to_come_to_an_end_does_so_with_its_turn() -> None:
    assert next_step(hurried(did(), last="So far."), NOW) == end(Outcome.BUDGET_EXCEEDED, "So far.", NEARLY)
    assert next_step(hurried(did(), completed(), last="All."), NOW) == end(Outcome.DONE, "All.")


@pytest.mark.parametrize(
    ("output", "step"),
    [
        ({}, end(Outcome.DONE, "All.")),
        (
            {"checks": ["true"]},
            Finish(Outcome.BUDGET_EXCEEDED, "I see.", "limits.iterations = 2 is reached", partial=True),
        ),
    ],
)
def test_a_goal_reached_with_the_last_reply_is_reached(output: JsonValue, step: Finish) -> None:
    job = a_goal_job(*GIVEN, limits={"iterations": 2}, output=output)

    assert next_step(a_goal_run(did(), completed("All.", MET), job=job), NOW) == step


@pytest.mark.parametrize("output", [{}, {"checks": ["true"]}], ids=["free", "checked"])
def test_a_failure_declared_with_the_last_reply_is_one_and_is_held_to_nothing(output: JsonValue) -> None:
    job = a_goal_job(*GIVEN, limits={"iterations": 2}, output=output)

    assert next_step(a_goal_run(did(), failed(), job=job), NOW) == gave_up("")


def test_a_declared_failure_is_not_checked() -> None:
    job = a_goal_job(*GIVEN, output={"checks": ["true"]})

    assert next_step(a_goal_run(did(), completed(), failed(), "Oh.", job=job), NOW) == gave_up("Oh.")


def test_a_declared_failure_may_be_tried_again_with_nothing_declared() -> None:
    job = a_goal_job(*GIVEN, policy={"retry": {"attempts": 1, "on": ["failed"]}})
    run = a_goal_run(did(), failed(), "Oh.", job=job)
    again = run_of(moved(did(), failed(), "Oh."), finished(Outcome.FAILED), retried(), job=job)

    begins = next_step(run, NOW)
    assert isinstance(begins, BeginAgain)
    assert begins.end == gave_up("Oh.")
    assert conclusion(again) is None


def test_without_it_the_last_reply_is_the_end_of_the_budget() -> None:
    job = a_goal_job(*GIVEN, limits={"iterations": 2})
    reason = "limits.iterations = 2 is reached"

    assert next_step(a_goal_run(did(), did(), job=job), NOW) == end(Outcome.BUDGET_EXCEEDED, "I see.", reason)


def test_people_are_told_where_a_goal_was_judged_by_criteria_of_its_own() -> None:
    """Only where nobody has agreed to them: neither the job's nor those of an attended run."""
    moves = (proposed("it is green"), did(), completed(), "Done.")
    runs = (
        a_goal_run(*moves, job=a_goal_job()),
        a_goal_run(*moves, job=a_goal_job(), attended=True),
        a_goal_run(*moves),
    )

    assert [next_step(run, NOW) for run in runs] == [
        end(Outcome.DONE, "Done.", "it was judged by criteria of its own, to which nobody has agreed"),
        end(Outcome.DONE, "Done."),
        end(Outcome.DONE, "Done."),
    ]


def test_a_question_to_nobody_ends_no_goal() -> None:
    assert next_step(a_goal_run(did(), "Shall I go on?"), NOW) == goes_on(3)


def test_a_further_attempt_begins_with_no_turn_and_nothing_accepted() -> None:
    run = run_of(moved(did(), completed(), "Done."), finished(), retried(), job=a_goal_job(*GIVEN))

    assert conclusion(run) is None
    assert conclusion(a_goal_run(did(), completed("All."))) == Conclusion(Outcome.DONE, summary="All.")


def test_a_run_in_another_mode_knows_no_goal() -> None:
    run = a_goal_run("Done.", job=a_goal_job().model_copy(update={"mode": "agent"}))

    assert next_step(run, NOW) == Finish(Outcome.DONE, "Done.")


def test_a_call_cut_off_behind_the_end_undoes_it() -> None:
    """What was cut off may have changed something: it is judged again."""
    run = a_goal_run(did(), completed(), did("bash", ResultStatus.UNKNOWN), "Done.")

    assert next_step(run, NOW) == goes_on(5)
    assert conclusion(replace(run, replies=run.replies[:2])) is not None
    assert apply(a_goal_run(did(), completed(), "So."), finished()).finished is not None
