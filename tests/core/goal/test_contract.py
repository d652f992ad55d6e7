"""By what a goal is judged, and who has agreed to it."""

from __future__ import annotations

import pytest

from kova_auto.core.approval.levels import ApprovalLevel, Decision
from kova_auto.core.criterion import Criterion
from kova_auto.core.event import Event
from kova_auto.core.goal.contract import Author, Contract, Phase, contract_of, distinct, is_agreed, unfit
from kova_auto.core.message import ResultStatus
from kova_auto.core.run import RunState
from tests.core.facts import begun, decided, ended, result, retried, run_of, started
from tests.core.goal.goals import GIVEN, a_goal_job, a_goal_run, completed, did, moved, proposed, while_asked
from tests.support import a_job

PENDING = Contract()
ONE = (Criterion(id="c1", text="it is green"),)


@pytest.mark.parametrize(
    ("facts", "attended", "contract"),
    [
        pytest.param([], False, PENDING, id="nobody has said anything"),
        pytest.param(begun(), False, PENDING, id="nothing was proposed"),
        pytest.param(moved(did("read")), False, PENDING, id="the model only looked"),
        pytest.param(
            moved(proposed("it is green")),
            False,
            Contract(phase=Phase.CONFIRMED, criteria=ONE, author=Author.MODEL),
            id="proposed, and nobody is there",
        ),
        pytest.param(
            moved(proposed("it is green")),
            True,
            Contract(phase=Phase.CONFIRMED, criteria=ONE, author=Author.PERSON),
            id="proposed and agreed to",
        ),
        pytest.param(
            while_asked("it is green", " It  is GREEN"),
            True,
            Contract(phase=Phase.PROPOSED, criteria=ONE, author=Author.MODEL),
            id="a person is asked",
        ),
        pytest.param(
            [*while_asked("it is green"), decided(Decision.DENY, note="name the file")],
            True,
            PENDING,
            id="a person has refused",
        ),
        pytest.param(
            [*while_asked("it is green"), decided(Decision.DENY), result(ResultStatus.DENIED)],
            True,
            PENDING,
            id="refused, and the model was told",
        ),
        pytest.param(
            [*while_asked("it is green"), decided(Decision.ONCE), started(), result(criteria=())],
            True,
            Contract(phase=Phase.SKIPPED, author=Author.PERSON),
            id="a person wants none",
        ),
    ],
)
def test_a_contract_follows_from_the_facts(facts: list[Event], attended: bool, contract: Contract) -> None:
    level = ApprovalLevel.AUTO if attended else None

    assert contract_of(run_of(facts, job=a_goal_job(), level=level)) == contract


def test_what_a_job_names_stands_from_the_start_whatever_is_proposed() -> None:
    named = (Criterion(id="c1", text="the README explains the flag"), Criterion(id="c2", command="pytest -q"))

    for run in (run_of(job=a_goal_job(*GIVEN)), a_goal_run(proposed("it is green"))):
        assert contract_of(run) == Contract(phase=Phase.CONFIRMED, criteria=named, author=Author.JOB)


def test_a_further_attempt_has_its_criteria_still_to_propose() -> None:
    first = moved(proposed("it is green"), completed())
    again = run_of(first, ended(), retried(), job=a_goal_job())

    assert (contract_of(run_of(first, job=a_goal_job())).is_settled, contract_of(again).is_settled) == (True, False)


def test_criteria_are_told_as_their_model_is_to_read_them() -> None:
    said = [criterion.said for criterion in contract_of(run_of(job=a_goal_job(*GIVEN))).criteria]

    assert said == ["c1: the README explains the flag", "c2: the command `pytest -q` ends with exit code 0"]


@pytest.mark.parametrize(
    ("texts", "kept"),
    [
        ([], ()),
        (["", "  \n"], ()),
        (["It is green.", "it is  GREEN."], ("It is green.",)),
        (["\uff29\uff54 is green.", "It is green."], ("\uff29\uff54 is green.",)),
        (["b", "a", "B", "a "], ("b", "a")),
        ([" kept   as\nsaid "], ("kept as said",)),
    ],
)
def test_criteria_that_say_the_same_count_once(texts: list[str], kept: tuple[str, ...]) -> None:
    assert distinct(texts) == kept


@pytest.mark.parametrize(
    ("texts", "wrong"),
    [
        ([], ""),
        (["x" * 500] * 8, ""),
        (["x"] * 9, "wanted at most 8 criteria, found 9: put together what belongs together"),
        (["x", "y" * 501], "wanted at most 500 characters, found 501 in criterion 2"),
    ],
)
def test_criteria_are_few_and_short(texts: list[str], wrong: str) -> None:
    assert unfit(texts) == wrong


@pytest.mark.parametrize(
    ("run", "agreed"),
    [
        pytest.param(run_of(job=a_job(), level=ApprovalLevel.AUTO), True, id="no goal"),
        pytest.param(run_of(job=a_goal_job()), True, id="nobody is there"),
        pytest.param(run_of(job=a_goal_job(*GIVEN), level=ApprovalLevel.AUTO), True, id="the job names them"),
        pytest.param(run_of(job=a_goal_job(), level=ApprovalLevel.AUTO), False, id="pending"),
        pytest.param(run_of(while_asked("x"), job=a_goal_job(), level=ApprovalLevel.AUTO), False, id="proposed"),
        pytest.param(a_goal_run(proposed("x"), job=a_goal_job(), attended=True), True, id="confirmed"),
        pytest.param(a_goal_run(proposed(), job=a_goal_job(), attended=True), True, id="skipped"),
    ],
)
def test_with_a_person_at_hand_nothing_changes_before_they_agree(run: RunState, agreed: bool) -> None:
    assert is_agreed(run) is agreed
