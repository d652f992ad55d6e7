"""Read the schedules that a job has had, as they were written down, and the one that its file has now."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from pydantic import ValidationError

from kova_auto.core.errors import ConfigError
from kova_auto.core.ids import JobName
from kova_auto.core.job import Job, ScheduleTable
from kova_auto.core.ledger import NO_SCHEDULE, Occurrence, ScheduleVersion, Standing
from kova_auto.core.schedule.calendar import Record, spells
from kova_auto.core.schedule.timetable import Timetable
from kova_auto.core.view import RunRow
from kova_auto.scheduling.triggers import Calendars, ScheduleReading

UNSEEN: Final = "unseen"
"""Stands for the hash of a schedule that a file has and that no service has begun yet."""


def record_of(
    job: JobName,
    versions: Sequence[ScheduleVersion],
    standing: Standing | None,
    rows: Sequence[Occurrence],
    runs: Sequence[RunRow],
    calendars: Calendars | None = None,
) -> Record:
    """Return what is on record of one job; everything that is given is of this job alone, oldest first."""
    timetables = [timetable_of_version(version, calendars) for version in versions]
    is_seen = standing is not None and versions and standing.schedule == versions[-1].schedule
    cursor = standing.cursor if standing and is_seen else None
    return Record(job, spells(versions, timetables, cursor, rows), rows, runs)


def with_file(
    versions: Sequence[ScheduleVersion], job: JobName, file: Job | None, now: datetime
) -> list[ScheduleVersion]:
    """Return the versions, and the one that begins once a service looks: what the file says now, if that is another.

    Args:
        versions: Of the job, oldest first.
        job: Its name.
        file: As it is now; None where there is none.
        now: When it would begin.
    """
    body = file.schedule.model_dump_json() if file and file.schedule else ""
    if (versions[-1].body if versions else "") == body:
        return list(versions)
    return [*versions, ScheduleVersion(job=job, begun_at=now, schedule=UNSEEN if body else NO_SCHEDULE, body=body)]


def timetable_of_version(version: ScheduleVersion, calendars: Calendars | None = None) -> Timetable | None:
    """Return what a version implied; None where it implied nothing, or cannot be read any more."""
    if not version.body:
        return None
    try:
        table = ScheduleTable.model_validate_json(version.body)
        reading = ScheduleReading(table, first_seen_at=version.begun_at, calendars=calendars)
        found = reading.timetable(version.job)
        reading.raise_any()
    except (ConfigError, ValidationError):
        return None
    return found
