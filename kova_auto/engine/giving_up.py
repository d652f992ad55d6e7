"""What is still written about a run that broke: a wish to end it, and at last its end; pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from kova_auto.core.answer import last_text
from kova_auto.core.event import CallFinished, Event, RunFinished, StopRequested
from kova_auto.core.job import Outcome
from kova_auto.core.message import ResultStatus, told
from kova_auto.core.state import RunState

TRIES = 3


def last_words(state: RunState, reason: str, broke: int, now: datetime) -> Iterator[Event]:
    """Yield the facts that follow from a failure that nobody foresaw.

    The run is asked to end as failed. Where its end fails too, time and again, it ends as it is: a call that was under
    way is told as unknown, and what it left running stays behind.

    Args:
        state: Of the run.
        reason: The failure, in words.
        broke: How often in a row it has broken here, this time included.
        now: UTC.
    """
    if state.finished:
        return
    if state.stop is None:
        yield StopRequested(at=now, outcome=Outcome.FAILED, reason=reason, by="service")
    elif broke >= TRIES:
        for call_id in state.open_calls:
            call = state.calls[call_id]
            if call.result is None:
                status = ResultStatus.UNKNOWN if call.started else ResultStatus.CANCELLED
                yield CallFinished(at=now, call_id=call_id, result=told(status, f"the run broke: {reason}"))
        yield RunFinished(
            at=now,
            outcome=state.stop.outcome,
            answer=last_text(state),
            reason=f"{state.stop.reason}; it could not be brought to its end in good order: {reason}",
            partial=bool(state.replies[state.first_reply :]),
        )
