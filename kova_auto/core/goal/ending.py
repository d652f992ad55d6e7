"""Decide after each turn whether a goal is reached, given up, or pursued further; pure, and read from the top.

What the tools of goal mode have accepted comes first; then the cap on turns, the stall, a contract that never comes to
be, and a budget that is nearly used up. A failure of the model ends the run before any of this is asked.

Source: reference on Kova, 3.3; there most of these pause the goal, and a person resumes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kova_auto.core.call_state import CallState
from kova_auto.core.declaring import said_failed
from kova_auto.core.goal.contract import Author, contract_of
from kova_auto.core.goal.judging import is_refused, unmet
from kova_auto.core.goal.turns import STALLED_TURNS, Turn, changes, has_stalled, turns_of
from kova_auto.core.job import Outcome
from kova_auto.core.state import RunState
from kova_auto.core.steps import Finish
from kova_auto.core.tool_names import GOAL_BLOCKED, GOAL_COMPLETE, GOAL_PROPOSE, REPORT_FAILURE

IDLE_TURNS: Final = 3
BY_ITS_OWN: Final = "it was judged by criteria of its own, to which nobody has agreed"


@dataclass(frozen=True, slots=True)
class Conclusion:
    """Hold the end that a tool of goal mode gave the run.

    Attributes:
        reason: Why it is blocked; of a goal that is reached, what people have to know of how it was judged.
        summary: What the call said of the whole.
    """

    outcome: Outcome
    reason: str = ""
    summary: str = ""


def conclusion(state: RunState) -> Conclusion | None:
    """Return the end that was accepted last; None where there is none, or it holds no more.

    What was judged must be what is left: whoever changes something afterwards, or is refused when it judges anew,
    calls the tool again. With the goal reached, `nothing_to_report` may still say that nobody need hear of it.
    """
    is_quiet = False
    for reply in reversed(state.replies[state.first_reply :]):
        for call in (state.calls[call.id] for call in reversed(reply.calls)):
            if call.call.tool in (GOAL_COMPLETE, GOAL_BLOCKED) and call.result and call.result.concludes:
                return _concluded(state, call, is_quiet=is_quiet)
            if call.call.tool == REPORT_FAILURE and call.result and call.result.concludes:
                return Conclusion(Outcome.FAILED, reason=said_failed(call))
            if changes(call) or is_refused(call):
                return None
            is_quiet = is_quiet or bool(call.result and call.result.concludes)
    return None


def _concluded(state: RunState, call: CallState, *, is_quiet: bool) -> Conclusion:
    if call.call.tool == GOAL_BLOCKED:
        return Conclusion(Outcome.BLOCKED, reason=f"the goal is blocked: {call.call.args.get('reason', '')}")
    outcome = Outcome.NOTHING_TO_REPORT if is_quiet else Outcome.DONE
    reason = BY_ITS_OWN if contract_of(state).author is Author.MODEL else ""
    return Conclusion(outcome, reason, str(call.call.args.get("summary", "")))


def goal_end(state: RunState) -> Finish | None:
    """Return the end of a run whose newest reply has no call; None where the run goes on."""
    turns = turns_of(state)
    if found := conclusion(state):
        return Finish(found.outcome, turns[-1].answer or found.summary, found.reason)
    if turns[-1].has_ended and (reached := _given_up(state, turns)):
        outcome, reason = reached
        return Finish(outcome, turns[-1].answer, f"{reason}{_left(state)}", partial=True)
    return None


def _given_up(state: RunState, turns: Sequence[Turn]) -> tuple[Outcome, str] | None:
    most = state.job.goal.turns
    if len(turns) >= most:
        return Outcome.BUDGET_EXCEEDED, f"its last turn is over (goal.turns = {most})"
    if has_stalled(turns):
        return Outcome.FAILED, f"it stalled: {STALLED_TURNS} turns in a row did nothing and ended in the same words"
    if not contract_of(state).is_settled and _is_idle(turns):
        return Outcome.FAILED, f"in {IDLE_TURNS} turns in a row it never said by what its goal is to be judged"
    if state.hurried:
        return Outcome.BUDGET_EXCEEDED, "what it may use was nearly used up before the goal was reached"
    return None


def _is_idle(turns: Sequence[Turn]) -> bool:
    newest = turns[-IDLE_TURNS:]
    return len(newest) == IDLE_TURNS and not any(turn.called(GOAL_PROPOSE) for turn in newest)


def _left(state: RunState) -> str:
    """Return which criteria are not met, as the end of a sentence."""
    ids = [criterion.id for criterion in unmet(state)]
    return f"; not met: {', '.join(ids)}" if ids else ""


def without_a_word(state: RunState) -> Finish | None:
    """Return the end of a run that its goal has come to, and that has nothing left to say so with; else None.

    Where the job wants its answer in a form, or checked, a summary is none; who reached no goal is held to neither.
    """
    found = conclusion(state)
    if found is None:
        return None
    if found.outcome is Outcome.DONE and (state.job.output.schema_file or state.job.output.checks):
        return None
    return Finish(found.outcome, found.summary, found.reason)
