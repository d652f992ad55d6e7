"""What a job has spent on one day, and whether that leaves anything for a further run."""

from __future__ import annotations

from datetime import UTC, datetime, time
from zoneinfo import ZoneInfo

from kova_auto.core.event import RunRequested

BUDGET = "budget"
"""Why an occurrence is skipped once its job has spent what it may on that day."""


def day_began(now: datetime, zone: ZoneInfo) -> datetime:
    """Return the instant, UTC, at which the zone's present day began."""
    return datetime.combine(now.astimezone(zone).date(), time.min, zone).astimezone(UTC)


def day_is_spent(request: RunRequested) -> bool:
    """Say whether there is nothing left of its day for a run that is to be opened; a script costs nothing."""
    return not request.scripted and request.day_spent_usd >= request.job.limits.cost_usd_per_day


def say_spent(request: RunRequested) -> str:
    """Say what the job's runs have cost on this day, and what they may."""
    limit = request.job.limits.cost_usd_per_day
    return f"{request.day_spent_usd:.4f} USD were spent today (limits.cost_usd_per_day = {limit:g})"
