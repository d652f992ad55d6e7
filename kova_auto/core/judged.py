"""Read from a run's facts each call as it stood when it was judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kova_auto.core.approval.levels import Verdict
from kova_auto.core.event import CallAdjudicated, Event, RunRequested
from kova_auto.core.message import ToolCall
from kova_auto.core.run import apply, opened
from kova_auto.core.skill_facts import UsedSkill
from kova_auto.core.state import RunState


@dataclass(frozen=True, slots=True)
class JudgedCall:
    """Hold one judgement.

    Attributes:
        call: With the arguments that were judged; a person may have changed them before or after.
        tainted_by: Untrusted text that the run had read by then; empty where it had read none.
        skills: That the run had loaded by then.
    """

    call: ToolCall
    verdict: Verdict
    tainted_by: str
    skills: tuple[UsedSkill, ...] = ()


def judged_calls(events: Iterable[Event]) -> Iterator[JudgedCall]:
    """Yield what was judged in a run, oldest first; a call that was judged twice comes twice."""
    state: RunState | None = None
    for event in events:
        if state is None:
            state = opened(event) if isinstance(event, RunRequested) else None
            continue
        if isinstance(event, CallAdjudicated):
            yield JudgedCall(state.call(event.call_id).call, event.verdict, state.tainted_by, state.skills)
        state = apply(state, event)
