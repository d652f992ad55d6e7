"""Say of a run and of those that it has dispatched whether all that is left of them waits for persons; pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from kova_auto.core.state import RunState
from kova_auto.core.step import next_step
from kova_auto.core.steps import AwaitApproval, AwaitChildren


def waits_for_persons(family: Iterable[RunState], now: datetime) -> bool:
    """Say whether nothing is left to be done but by a person: each run waits for one, or for such children.

    Args:
        family: Its runs; those that have finished count for nothing.
        now: UTC.
    """
    steps = [next_step(state, now) for state in family if not state.finished]
    rest = all(isinstance(step, AwaitApproval | AwaitChildren) for step in steps)
    return rest and any(isinstance(step, AwaitApproval) for step in steps)
