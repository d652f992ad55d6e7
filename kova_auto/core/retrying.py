"""Say whether the job's policy lets a run begin anew after an attempt that failed, and when.

A further attempt is one of the same run, and counts as the same occurrence: nobody is told before the last has ended.
"""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from typing import Final

from kova_auto.core.event import RunRetried
from kova_auto.core.fault import TRANSIENT, Fault
from kova_auto.core.job import Outcome
from kova_auto.core.state import RunState
from kova_auto.core.stop_reason import StopReason

BY_POLICY: Final = "policy.retry"
"""Who begins an attempt that nobody asked for."""
_WORTH_ANOTHER: Final = frozenset({None, Fault.OVERFLOW})
"""Faults of a failure that is none of its provider's, and that a conversation from the start may not meet again."""


def begins_again_at(state: RunState, outcome: Outcome, fault: Fault | None, now: datetime) -> datetime | None:
    """Return when the next attempt may begin, should this one end now; None where the run ends with it.

    It does where the policy does not cover such an end or its attempts are used up; also where the schedule's next
    instant comes first, unless instants queue: then that one is the next attempt.

    Args:
        state: Of the run, every call settled.
        outcome: What the attempt comes to.
        fault: Of the model call that ended it.
        now: UTC.

    Source: reference, "Policy model", exact meaning of "Retry".
    """
    policy, following_at = state.job.policy, state.request.next_at
    if state.retries >= policy.retry.attempts or kind_of(state, outcome, fault) not in policy.retry.on:
        return None
    not_before = now + timedelta(seconds=wait_s(state))
    if following_at is not None and following_at <= not_before and policy.overlap != "queue":
        return None
    return not_before


def kind_of(state: RunState, outcome: Outcome, fault: Fault | None) -> str | None:
    """Return what `policy.retry.on` calls such an end; None for one that no further attempt would change."""
    if outcome is Outcome.TIMED_OUT:
        return "timed_out"
    if outcome is not Outcome.FAILED or (fault is None and _was_refused(state)):
        return None
    if fault is Fault.RATE_LIMITED:
        return "rate_limit"
    if fault in TRANSIENT:
        return "transient"
    return "failed" if fault in _WORTH_ANOTHER else None


def _was_refused(state: RunState) -> bool:
    """Say whether the model would not answer: it was asked, and said so."""
    replies = state.replies[state.first_reply :]
    return bool(replies) and replies[-1].reply.stop is StopReason.REFUSED


def wait_s(state: RunState) -> float:
    """Return how long the next attempt is waited for, in seconds: twice as long each time, the longest at most.

    It is up to half as long, so that runs which failed together do not return together.
    """
    retry = state.job.policy.retry
    longest_s = min(retry.initial.total_seconds() * 2.0**state.retries, retry.max.total_seconds())
    name = f"{state.run_id} attempt {state.attempt + 1}".encode()
    chance = int.from_bytes(hashlib.sha256(name).digest()[:4]) / 2**32
    return longest_s * (1 + chance) / 2


def said_ended(retried: RunRetried) -> str:
    """Return what came of the attempt before, in words; empty where the run had finished, and somebody asked."""
    if retried.ended is None:
        return ""
    why = f": {retried.reason}" if retried.reason else ""
    return f"attempt {retried.attempt - 1} ended as {retried.ended}{why}"
