"""What came of each criterion when the run last called its goal reached, as far as anything did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kova_auto.core.call_state import CallState
from kova_auto.core.criterion import Criterion, CriterionResult
from kova_auto.core.goal.contract import contract_of
from kova_auto.core.state import RunState
from kova_auto.core.tool_names import GOAL_COMPLETE


def completions(state: RunState) -> Iterator[CallState]:
    """Yield the calls of this attempt that called the goal reached, the newest first."""
    for reply in reversed(state.replies[state.first_reply :]):
        yield from (state.calls[call.id] for call in reversed(reply.calls) if call.tool == GOAL_COMPLETE)


def is_refused(call: CallState) -> bool:
    """Say whether a call called the goal reached, and was found wrong."""
    result = call.result
    return call.call.tool == GOAL_COMPLETE and result is not None and result.judged is not None and not result.concludes


def found_of(state: RunState) -> Mapping[str, CriterionResult]:
    """Return what came of each criterion last, by its id; one that was never judged is missing."""
    judged = (call.result.judged for call in completions(state) if call.result and call.result.judged)
    return {result.id: result for result in next(judged, ())}


def unmet(state: RunState) -> tuple[Criterion, ...]:
    """Return the criteria that were not found met, in their order."""
    found = found_of(state)
    return tuple(
        criterion
        for criterion in contract_of(state).criteria
        if criterion.id not in found or not found[criterion.id].met
    )
