"""Read out of a run's calls that its model says it failed."""

from __future__ import annotations

from typing import Final

from kova_auto.core.call_state import CallState
from kova_auto.core.job import Outcome
from kova_auto.core.state import RunState
from kova_auto.core.tool_names import REPORT_FAILURE

DECLARED: Final = "the model says that it failed: {reason}"


def declared(state: RunState) -> str:
    """Return why a run fails that was declared to have failed; empty where it was not."""
    if state.concludes != Outcome.FAILED:
        return ""
    for call in reversed(tuple(state.calls.values())):
        if call.call.tool == REPORT_FAILURE and call.result and call.result.concludes:
            return said_failed(call)
    return ""


def said_failed(call: CallState) -> str:
    """Return why a run fails, as the call says that declares it."""
    return DECLARED.format(reason=str(call.call.args.get("reason", "")).strip())
