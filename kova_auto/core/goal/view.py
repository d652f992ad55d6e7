"""Show how far a run has come with its goal; a fold of its facts, like its status."""

from __future__ import annotations

from enum import StrEnum

from kova_auto.core.approval.levels import Mode
from kova_auto.core.goal.contract import Author, Phase, contract_of
from kova_auto.core.goal.ending import conclusion
from kova_auto.core.goal.judging import completions, found_of
from kova_auto.core.goal.turns import turns_of
from kova_auto.core.goal.words import objective_of
from kova_auto.core.job import Outcome
from kova_auto.core.state import RunState
from kova_auto.core.value import Value


class GoalStatus(StrEnum):
    """Say what has become of a goal."""

    ACTIVE = "active"
    COMPLETE = "complete"
    BLOCKED = "blocked"
    GIVEN_UP = "given_up"  # the run ended without having reached it


class CriterionView(Value):
    """Show one criterion.

    Attributes:
        text: Empty for a command.
        command: None where the model says whether it is met.
        met: As was found last; None while nothing was.
        evidence: Of the model, or what the command printed last.
    """

    id: str
    text: str
    command: str | None
    met: bool | None
    evidence: str


class GoalView(Value):
    """Show a run's goal.

    Attributes:
        author: Who stands behind the criteria; None while none stand.
        turn: That is under way, or was the last; from 1.
        turns: That there may be.
        summary: With which it was called reached, last; empty before.
        blocker: Why it is blocked; empty where it is not.
    """

    objective: str
    status: GoalStatus
    phase: Phase
    author: Author | None
    turn: int
    turns: int
    criteria: tuple[CriterionView, ...]
    summary: str = ""
    blocker: str = ""


_STATUSES = {
    Outcome.DONE: GoalStatus.COMPLETE,
    Outcome.NOTHING_TO_REPORT: GoalStatus.COMPLETE,
    Outcome.BLOCKED: GoalStatus.BLOCKED,
}


def goal_view(state: RunState) -> GoalView | None:
    """Return how far a run has come with its goal in its present attempt; None where it has none."""
    if state.mode is not Mode.GOAL:
        return None
    contract, found, turns = contract_of(state), found_of(state), turns_of(state)
    ended = conclusion(state)
    completed = next(completions(state), None)
    return GoalView(
        objective=objective_of(state),
        status=_status(state, ended.outcome if ended else None),
        phase=contract.phase,
        author=contract.author,
        turn=turns[-1].number if turns else 1,
        turns=state.job.goal.turns,
        criteria=tuple(
            CriterionView(
                id=criterion.id,
                text=criterion.text,
                command=criterion.command,
                met=found[criterion.id].met if criterion.id in found else None,
                evidence=found[criterion.id].evidence if criterion.id in found else "",
            )
            for criterion in contract.criteria
        ),
        summary=str(completed.call.args.get("summary", "")) if completed else "",
        blocker=ended.reason if ended and ended.outcome is Outcome.BLOCKED else "",
    )


def _status(state: RunState, concluded: Outcome | None) -> GoalStatus:
    if state.finished is None:
        return _STATUSES.get(concluded, GoalStatus.GIVEN_UP) if concluded else GoalStatus.ACTIVE
    is_other = state.finished.outcome is Outcome.BLOCKED and concluded is not Outcome.BLOCKED
    return GoalStatus.GIVEN_UP if is_other else _STATUSES.get(state.finished.outcome, GoalStatus.GIVEN_UP)
