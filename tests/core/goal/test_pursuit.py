"""What a tool of goal mode is told of the run that calls it."""

from __future__ import annotations

import pytest

from kova_auto.core.approval.levels import ApprovalLevel, Decision
from kova_auto.core.event import Event
from kova_auto.core.goal.contract import contract_of
from kova_auto.core.goal.pursuit import Pursuit, pursuit_of
from kova_auto.core.ids import CallId
from kova_auto.core.run import RunState
from tests.core.facts import FIRST, answered, begun, decided, run_of
from tests.core.goal.goals import GIVEN, Move, a_goal_job, did, moved, refused, said_blocked, while_asked
from tests.support import a_job, call, says

COMPLETES = says("So.", call("goal_complete", summary="So.", results=[]))


def then_completing(*moves: Move, **request: object) -> tuple[RunState, CallId]:
    """Return a run that has come so far and calls the goal reached now, and that call."""
    events: list[Event] = [*moved(*moves), *answered(COMPLETES, len(moves) + 1)]
    return run_of(events, **{"job": a_goal_job(*GIVEN), **request}), CallId(f"{len(moves) + 1}.1")


def told(*moves: Move, **request: object) -> Pursuit:
    found = pursuit_of(*then_completing(*moves, **request))
    assert found is not None
    return found


def test_it_is_told_by_what_the_goal_is_judged_and_whether_somebody_is_there() -> None:
    run, _ = then_completing()

    assert told() == Pursuit(contract=contract_of(run))
    assert told(level=ApprovalLevel.AUTO).is_attended


@pytest.mark.parametrize(
    ("moves", "worked"),
    [
        ((), False),
        ((did("todo"), "A."), False),
        ((refused("edit"), "A."), False),
        ((did("read"),), True),
        ((did("read"), "A.", "B."), True),
    ],
)
def test_it_is_told_whether_anything_was_done_in_any_turn(moves: tuple[Move, ...], worked: bool) -> None:
    assert told(*moves).has_worked is worked


@pytest.mark.parametrize(
    ("moves", "turns"),
    [
        ((), 0),
        ((said_blocked(), said_blocked("again")), 0),
        ((said_blocked(), "A."), 1),
        ((said_blocked(), said_blocked(), "A."), 1),
        ((said_blocked(), "A.", said_blocked(), "B."), 2),
        ((said_blocked(), "A.", did(), "B."), 0),
        ((said_blocked(), "A.", did(), "B.", said_blocked(), "C."), 1),
        ((refused("goal_blocked"), "A."), 0),
    ],
)
def test_it_is_told_in_how_many_turns_in_a_row_the_run_was_blocked(moves: tuple[Move, ...], turns: int) -> None:
    assert told(*moves).blocked_before == turns


def test_it_is_told_where_a_person_has_changed_what_was_proposed() -> None:
    asked, job = while_asked("it is green"), a_goal_job()
    edited = decided(Decision.ONCE).model_copy(update={"args": {"criteria": []}})
    found = [
        pursuit_of(run_of(asked, said, job=job, level=ApprovalLevel.AUTO), FIRST)
        for said in (decided(Decision.ONCE), edited)
    ]

    assert [one and one.is_edited for one in found] == [False, True]


def test_no_other_tool_and_no_other_run_is_told_anything() -> None:
    reads: list[Event] = [*begun(), *answered(says("So.", call("read")))]
    completes: list[Event] = [*begun(), *answered(COMPLETES)]

    assert pursuit_of(run_of(reads, job=a_goal_job(*GIVEN)), FIRST) is None
    assert pursuit_of(run_of(completes, job=a_job()), FIRST) is None
    assert pursuit_of(run_of(completes, job=a_goal_job(*GIVEN)), CallId("")) is None
