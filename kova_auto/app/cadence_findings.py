"""Say which jobs take longer than their schedules leave them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

from kova_auto.app.connect import reading
from kova_auto.app.finding import Finding, Mark
from kova_auto.core.errors import KovaError
from kova_auto.core.ids import JobName
from kova_auto.core.job import Job
from kova_auto.core.schedule.cadence import cadence
from kova_auto.core.view import RunRow
from kova_auto.scheduling.triggers import timetable_of
from kova_auto.settings.model import Settings

_LOOKED_AT: Final = 1000


async def of_cadence(
    settings: Settings, environ: Mapping[str, str], jobs: Iterable[Job], now: datetime
) -> list[Finding]:
    """Look at the newest runs of all jobs; a database that cannot be asked is named elsewhere."""
    if settings.database == "sqlite" and not settings.database_file.exists():
        return []
    try:
        async with reading(settings, environ, kind="doctor") as answers:
            rows = await answers.runs(None, unfinished=False, limit=_LOOKED_AT)
    except KovaError:
        return []
    return findings(settings, jobs, rows, now)


def findings(settings: Settings, jobs: Iterable[Job], rows: Iterable[RunRow], now: datetime) -> list[Finding]:
    """Return what there is to say of jobs, given the newest runs, newest first."""
    ended: dict[JobName, list[RunRow]] = defaultdict(list)
    for row in rows:
        ended[row.job].append(row)
    found = []
    for job in jobs:
        mine = ended.get(JobName(job.name))
        timetable = timetable_of(job, calendars=settings.calendar_dates, now=now) if mine else None
        known = cadence(timetable, mine, now) if mine and timetable else None
        if known and known.overruns(job.policy):
            found.append(Finding("job", job.name, Mark.WARN, known.said(job.policy)))
    return found
