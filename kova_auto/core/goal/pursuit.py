"""What the tools of goal mode are told of the run that calls them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from kova_auto.core.approval.levels import Mode
from kova_auto.core.goal.contract import Contract, contract_of
from kova_auto.core.goal.turns import Turn, turns_of
from kova_auto.core.ids import CallId
from kova_auto.core.state import RunState
from kova_auto.core.tool_names import GOAL_BLOCKED, GOAL_TOOLS

BLOCKED_TURNS: Final = 3
"""In so many turns in a row must a run be blocked before it may end so."""


@dataclass(frozen=True, slots=True)
class Pursuit:
    """Hold how far a run has come with its goal.

    Attributes:
        is_attended: A person is there to agree to criteria.
        is_edited: A person has changed the call's arguments.
        has_worked: Some call of this attempt did more than talk about the goal.
        blocked_before: Turns in a row, up to the one before, in which the run said that it is blocked.
    """

    contract: Contract = field(default_factory=Contract)
    is_attended: bool = False
    is_edited: bool = False
    has_worked: bool = False
    blocked_before: int = 0


def pursuit_of(state: RunState, call_id: CallId) -> Pursuit | None:
    """Return what a call is told of the goal; None where it is of no goal tool, or the run has no goal."""
    call = state.calls.get(call_id)
    if state.mode is not Mode.GOAL or call is None or call.call.tool not in GOAL_TOOLS:
        return None
    turns = turns_of(state)
    return Pursuit(
        contract=contract_of(state),
        is_attended=state.request.level is not None,
        is_edited=call.decision is not None and call.decision.args is not None,
        has_worked=any(turn.has_worked for turn in turns),
        blocked_before=blocked_in_a_row(turns[:-1]),
    )


def blocked_in_a_row(turns: Sequence[Turn]) -> int:
    """Return in how many of the newest turns, without a gap, the run said that it is blocked."""
    count = 0
    for turn in reversed(turns):
        if not any(call.call.tool == GOAL_BLOCKED and call.started for call in turn.calls):
            break
        count += 1
    return count
