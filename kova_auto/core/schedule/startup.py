"""Decide whether a start of the service makes the jobs run that are to run then."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from kova_auto.core.duration import render_duration
from kova_auto.core.schedule.zone import SECOND

CRASH_LOOP: Final = timedelta(seconds=60)


def why_suppressed(started_at: datetime, previous_at: datetime | None) -> str:
    """Return why nothing runs at a start of the service; empty where it does.

    A service that starts over and over, perhaps because of what runs then, must not run it every time.

    Args:
        started_at: This start, the nominal instant of what runs at it.
        previous_at: The start before, whether anything ran or not; None for the first one.

    Source: reference on scheduling, 3.3.
    """
    if previous_at is None or not (since := abs(started_at - previous_at)) < CRASH_LOOP:
        return ""
    return f"crash loop: the service had started {render_duration(since // SECOND * SECOND)} before"
