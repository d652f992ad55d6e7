"""Say which jobs' files are broken, and what goes on meanwhile."""

from __future__ import annotations

from datetime import datetime

from pydantic import AwareDatetime

from kova_auto.core.ids import JobName
from kova_auto.core.value import Value


class Parked(Value):
    """Say that a job's file is broken.

    Attributes:
        good_at: When its last good version, which goes on, was written; None where the service knows none, so that
            nothing of the job runs.
    """

    job: JobName
    good_at: AwareDatetime | None = None


def spell_parked(good_at: datetime | None) -> str:
    """Say what goes on of a job whose file is broken."""
    if good_at is None:
        return "nothing of it runs until it is mended"
    return f"its last good version, of {good_at:%Y-%m-%d %H:%M:%S} UTC, goes on"
