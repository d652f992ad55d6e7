"""Gather what is on record of schedules for a stretch of time."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from kova_auto.app.control import Annals
from kova_auto.core.ids import JobName
from kova_auto.core.ledger import Ledger
from kova_auto.core.ports import Views

MOST_ROWS: Final = 20_000
"""What a person can still read is far less; an answer over the socket holds about so many."""


async def annals(
    ledger: Ledger, views: Views, job: JobName | None, since: datetime, until: datetime, *, most: int = MOST_ROWS
) -> Annals:
    """Return what is on record for a stretch, `until` excluded: as far as there is room for it.

    Args:
        ledger: Has the schedules and their rows.
        views: Have the runs.
        job: Of this one alone.
        since: UTC.
        until: UTC.
        most: So many rows, and so many runs.
    """
    standings = await ledger.standings()
    rows = await ledger.between(job, since, until, limit=most)
    runs = await views.meant_for(job, since, until, limit=most)
    last = [rows[-1].nominal_at if len(rows) == most else None, runs[-1].nominal_at if len(runs) == most else None]
    ends_at = min((instant for instant in last if instant), default=None)
    return Annals(
        versions=tuple(await ledger.versions(job)),
        standings=tuple(one for one in standings if job in (None, one.job)),
        rows=tuple(row for row in rows if ends_at is None or row.nominal_at < ends_at),
        runs=tuple(run for run in runs if ends_at is None or (run.nominal_at and run.nominal_at < ends_at)),
        ends_at=ends_at,
    )
