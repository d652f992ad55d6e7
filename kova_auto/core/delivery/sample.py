"""Make up what an endpoint is sent to try it out: nothing ran, and every text says so."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from kova_auto.core.approval.levels import AutomationLevel
from kova_auto.core.delivery.notice import Denial, EndpointTest, Notice, RunReport
from kova_auto.core.ids import EndpointName
from kova_auto.core.job import Outcome

SAMPLE_RUN: Final = "endpoint-test"
"""Stands where the id of a run would: no run has one like it."""

_GOOD = frozenset({Outcome.DONE, Outcome.NOTHING_TO_REPORT})
_ANSWER = """\
**This is a test.** Nothing ran, and nothing is wrong: somebody tries out how a report looks here.

- `a list`, with code, an [address](https://example.org) and text of *every* kind: ümläut, 日本語
- what a run may not do is listed below its answer
"""


def sample_notice(endpoint: EndpointName, outcome: Outcome | None, now: datetime) -> Notice:
    """Return what an endpoint is sent as a test: the report of a run that ended so, or a message of its own kind."""
    if outcome is None:
        return EndpointTest(endpoint=endpoint, sent_at=now)
    return RunReport(
        run_id=SAMPLE_RUN,
        job="endpoint-test",
        description="A test: nothing ran",
        outcome=outcome,
        scripted=True,
        model="none/test",
        level=AutomationLevel.READ_ONLY,
        workspace="/nowhere",
        started_at=now - timedelta(seconds=12),
        finished_at=now,
        duration_s=12,
        iterations=2,
        tool_calls=3,
        denied=(Denial(tool="write", reason="This is a test: nothing was refused."),),
        answer=_ANSWER,
        reason="" if outcome in _GOOD else "this is a test: nothing has failed",
    )
