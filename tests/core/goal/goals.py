"""Runs in goal mode, one word for each thing that happens in them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from pydantic import JsonValue

from kova_auto.core.approval.levels import ApprovalLevel, Ruling
from kova_auto.core.criterion import CriterionResult
from kova_auto.core.event import Event
from kova_auto.core.ids import call_id
from kova_auto.core.job import Job
from kova_auto.core.message import CallRequest, ResultStatus
from kova_auto.core.run import RunState
from kova_auto.core.tool_names import GOAL_BLOCKED, GOAL_COMPLETE, GOAL_PROPOSE
from tests.core.facts import answered, asked, begun, decided, judged, result, run_of, started
from tests.support import a_job, call, says

GIVEN: tuple[JsonValue, ...] = ("the README explains the flag", {"command": "pytest -q"})


@dataclass(frozen=True, slots=True)
class Made:
    """Hold a call with what came of it.

    Attributes:
        has_run: False for one that was refused.
    """

    call: CallRequest
    status: ResultStatus = ResultStatus.OK
    has_run: bool = True
    more: dict[str, object] = field(default_factory=dict)


Move = str | Made | tuple[Made, ...]
"""A reply: words that end a turn, or calls."""


def a_goal_job(*criteria: JsonValue, turns: int = 30, **changes: object) -> Job:
    return a_job("nightly", mode="goal", goal={"criteria": list(criteria), "turns": turns}, **changes)


def did(tool: str = "edit", status: ResultStatus = ResultStatus.OK, **args: JsonValue) -> Made:
    return Made(call(tool, **args), status)


def refused(tool: str) -> Made:
    return Made(call(tool), ResultStatus.DENIED, has_run=False)


def proposed(*criteria: str) -> Made:
    return Made(call(GOAL_PROPOSE, criteria=list(criteria)), more={"criteria": criteria})


def completed(summary: str = "All is done.", judged_as: Iterable[CriterionResult] = ()) -> Made:
    found = tuple(judged_as)
    return Made(call(GOAL_COMPLETE, summary=summary, results=[]), more={"concludes": "done", "judged": found})


def not_completed(*judged_as: CriterionResult) -> Made:
    return Made(call(GOAL_COMPLETE, summary="So far.", results=[]), ResultStatus.ERROR, more={"judged": judged_as})


def said_blocked(reason: str = "no key", *, accepted: bool = False) -> Made:
    status = ResultStatus.OK if accepted else ResultStatus.ERROR
    more: dict[str, object] = {"concludes": "blocked"} if accepted else {}
    return Made(call(GOAL_BLOCKED, reason=reason, evidence="I asked."), status, more=more)


def failed(reason: str = "the page is gone") -> Made:
    return Made(call("report_failure", reason=reason), more={"concludes": "failed"})


def quiet() -> Made:
    return Made(call("nothing_to_report", reason="all as before"), more={"concludes": "nothing_to_report"})


def moved(*moves: Move) -> list[Event]:
    """Return the facts of replies, the first behind the context."""
    events = begun()
    for iteration, move in enumerate(moves, start=1):
        made = () if isinstance(move, str) else (move,) if isinstance(move, Made) else move
        text = move if isinstance(move, str) else "I see."
        events += answered(says(text, *(each.call for each in made)), iteration)
        for index, each in enumerate(made, start=1):
            key = call_id(iteration, index)
            events.append(judged(Ruling.ALLOW if each.has_run else Ruling.DENY, key))
            events += [started(key)] if each.has_run else []
            events.append(result(each.status, key, **each.more))
    return events


def a_goal_run(*moves: Move, job: Job | None = None, attended: bool = False) -> RunState:
    """Return a run that has come so far; without a job, its criteria are `GIVEN`."""
    level = ApprovalLevel.AUTO_EDIT if attended else None
    return run_of(moved(*moves), job=job or a_goal_job(*GIVEN), level=level)


def while_asked(*criteria: str) -> list[Event]:
    """Return the facts of a run whose first reply proposes criteria, about which a person is asked."""
    proposal = answered(says("So.", call(GOAL_PROPOSE, criteria=list(criteria))))
    return [*begun(), *proposal, judged(Ruling.ASK), asked()]


__all__ = [
    "GIVEN",
    "Made",
    "Move",
    "a_goal_job",
    "a_goal_run",
    "completed",
    "decided",
    "did",
    "failed",
    "moved",
    "not_completed",
    "proposed",
    "quiet",
    "refused",
    "said_blocked",
    "while_asked",
]
