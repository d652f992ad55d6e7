"""What a job's policy does with an instant that comes too late, as a sentence for people."""

from __future__ import annotations

from kova_auto.core.duration import render_duration
from kova_auto.core.job import Policy
from kova_auto.core.schedule.occurrences import PUNCTUAL, WINDOW, WINDOW_AT
from kova_auto.core.schedule.triggers import AtTrigger, Trigger


def say_late(policy: Policy, trigger: Trigger) -> str:
    """Say until when an instant is in time, what becomes of it afterwards, and when a success is overdue."""
    overdue = ""
    if policy.expect_within is not None:
        overdue = f"; without a success within {render_duration(policy.expect_within)} the job is late"
    grace = PUNCTUAL if policy.start_deadline is None else policy.start_deadline
    return f"in time within {render_duration(grace)}; after that {_caught_up(policy, trigger)}{overdue}"


def _caught_up(policy: Policy, trigger: Trigger) -> str:
    usual = WINDOW_AT if isinstance(trigger, AtTrigger) else WINDOW
    window = usual if policy.missed_window is None else policy.missed_window
    if policy.missed == "skip" or not window:
        return "it is missed"
    since = f"no older than {render_duration(window)}"
    if policy.missed == "all" and policy.overlap != "cancel_previous" and policy.missed_max > 1:
        return f"the newest {policy.missed_max} {since} run, oldest first"
    return f"the newest runs if it is {since}, and any others are missed"
