"""Account for what an earlier schedule of a job still implied when the job got another, or none."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from kova_auto.core.errors import ConfigError
from kova_auto.core.job import ScheduleTable
from kova_auto.core.ledger import Ledger, Occurrence, OccurrenceStatus, Standing
from kova_auto.core.schedule.overlap import CHANGED
from kova_auto.core.schedule.timetable import Timetable, stretches
from kova_auto.scheduling.triggers import Calendars, ScheduleReading


async def close(ledger: Ledger, standings: Iterable[Standing], now: datetime, calendars: Calendars | None) -> None:
    """Write rows for all that fell due under these schedules and was not looked at before they ended."""
    for standing in standings:
        timetable = await _timetable(ledger, standing, calendars)
        if timetable is None or standing.cursor >= now:
            continue
        rows = [
            Occurrence(
                job=standing.job,
                schedule=standing.schedule,
                nominal_at=part.first,
                due_at=part.first,
                status=OccurrenceStatus.SKIPPED,
                why=part.why or CHANGED,
                until_at=part.last if part.last > part.first else None,
                count=part.count,
                settled_at=now,
            )
            for part in stretches(timetable, standing.cursor, now)
        ]
        if rows:
            cursor = rows[-1].until_at or rows[-1].nominal_at
            await ledger.claim(standing.job, standing.schedule, was=standing.cursor, cursor=cursor, rows=rows)


async def _timetable(ledger: Ledger, standing: Standing, calendars: Calendars | None) -> Timetable | None:
    """Return what a schedule implied, from what is on record of it."""
    versions = [one for one in await ledger.versions(standing.job) if one.schedule == standing.schedule and one.body]
    if not versions:
        return None
    table = ScheduleTable.model_validate_json(versions[-1].body)
    reading = ScheduleReading(table, first_seen_at=standing.begun_at, calendars=calendars)
    try:
        timetable = reading.timetable(standing.job)
        reading.raise_any()
    except ConfigError:  # A calendar is gone, or a zone: nobody knows any more what it implied.
        return None
    return timetable
