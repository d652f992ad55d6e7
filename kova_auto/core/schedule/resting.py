"""Decide when a schedule is to rest by itself: it has run often enough, or its runs fail one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from kova_auto.core.job import Outcome, Policy
from kova_auto.core.schedule.parents import SUCCESSES
from kova_auto.core.view import RunRow

TIMED_OUT_IN_A_ROW: Final = 5
"""So many runs that time out let a schedule rest, whatever its file says."""


def looks_at(policy: Policy) -> int:
    """Return how many of a job's last runs are looked at."""
    return max(TIMED_OUT_IN_A_ROW, policy.pause_after_failures)


def why_worn_out(policy: Policy, last: Sequence[RunRow], since: datetime | None) -> str:
    """Return why a schedule rests after how its runs ended; empty where it goes on.

    Args:
        policy: Of the job.
        last: Its last runs, newest end first. One that was cancelled says nothing.
        since: Somebody let the schedule go on then: what ended before says nothing; None where nobody did.
    """
    ends = [row for row in last if row.outcome is not Outcome.CANCELLED]
    if since is not None:
        ends = [row for row in ends if row.finished_at is not None and row.finished_at > since]
    wanted = policy.pause_after_failures
    if wanted and len(ends) >= wanted and not any(row.outcome in SUCCESSES for row in ends[:wanted]):
        runs = "run has" if wanted == 1 else "runs in a row have"
        return f"{wanted} {runs} failed, the last one as {_said(ends[0])} (policy.pause_after_failures)"
    newest = ends[:TIMED_OUT_IN_A_ROW]
    if len(newest) == TIMED_OUT_IN_A_ROW and all(row.outcome is Outcome.TIMED_OUT for row in newest):
        return f"{TIMED_OUT_IN_A_ROW} runs in a row have timed out, the last one as {_said(newest[0])}"
    return ""


def why_enough(policy: Policy, ran: int) -> str:
    """Return why a schedule rests after so many instants that have run; empty where it goes on."""
    if not policy.max_runs or ran < policy.max_runs:
        return ""
    return f"it has run as often as it may (policy.max_runs = {policy.max_runs})"


def _said(row: RunRow) -> str:
    return f"{row.outcome} ({row.run_id})"
