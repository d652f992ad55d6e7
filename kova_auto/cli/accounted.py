"""Ask for what is on record of jobs' schedules, and lay it beside their files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from kova_auto.cli.asking import ask
from kova_auto.cli.job_source import JobSource
from kova_auto.core.errors import ConfigError
from kova_auto.core.ids import JobName
from kova_auto.core.job import Job
from kova_auto.core.schedule.calendar import Line, Record, calendar
from kova_auto.core.schedule.zone import parse_zone
from kova_auto.scheduling.checks import is_job_name
from kova_auto.scheduling.jobfiles import is_path
from kova_auto.scheduling.recorded import record_of, with_file

if TYPE_CHECKING:
    from kova_auto.app.control import Annals, Answers
    from kova_auto.settings.model import Settings


@dataclass(frozen=True, slots=True)
class Accounted:
    """Hold what is on record of some jobs for a stretch of time.

    Attributes:
        since: Included, UTC.
        until: Excluded, UTC; earlier than was asked where there was too much.
        is_cut: It is earlier.
    """

    settings: Settings
    records: tuple[Record, ...]
    since: datetime
    until: datetime
    now: datetime
    is_cut: bool

    def lines(self, limit: int) -> list[Line]:
        """Return the instants of all jobs together, at most `limit`, oldest first."""
        found = [
            line for record in self.records for line in calendar(record, self.since, self.until, self.now, limit=limit)
        ]
        return sorted(found, key=lambda line: (line.nominal_at, line.job))[:limit]

    def zones(self) -> dict[JobName, ZoneInfo]:
        """Return in which zone each job's instants are shown: that of its newest schedule."""
        return {record.job: self._zone(record) for record in self.records}

    def _zone(self, record: Record) -> ZoneInfo:
        known = (spell.timetable.zone for spell in reversed(record.spells) if spell.timetable)
        return next(known, None) or parse_zone(self.settings.timezone)


def accounted(settings: Settings, jobs: Sequence[str], since: datetime, until: datetime, now: datetime) -> Accounted:
    """Return what is on record of jobs that are named, or of all that there are or were.

    Raises:
        KovaError: There is no answer, or neither a file nor a record of a job that is named.
    """
    source = JobSource(settings)
    files = _files(source, jobs)
    only = next(iter(files)) if len(files) == 1 and jobs else None

    async def question(answers: Answers) -> Annals:
        return await answers.annals(only, since, until)

    annals = ask(settings, question, kind="jobs")
    known = {version.job for version in annals.versions} | {row.job for row in annals.rows}
    names = sorted(files) if jobs else sorted({*files, *known})
    for name in names:
        if jobs and files[name] is None and name not in known:
            message = f"there is no job {name!r}, and none of this name is on record"
            raise ConfigError(message, path=str(settings.jobs_dir), hint="kova-auto jobs list shows the jobs")
    records = tuple(_record(name, files.get(name), annals, settings, now) for name in names)
    end = min(annals.ends_at or until, until)
    return Accounted(settings, records, since, end, now, annals.ends_at is not None)


def _files(source: JobSource, jobs: Sequence[str]) -> dict[JobName, Job | ConfigError | None]:
    """Return the jobs by name: each as its file has it, what is wrong with that, or None where it is gone."""
    if not jobs:
        return {JobName(path.stem): found for path, found in source.load_each(source.paths(()))}
    found: dict[JobName, Job | ConfigError | None] = {}
    for job in jobs:
        try:
            (path,) = source.paths([job])
        except ConfigError:
            if is_path(job) or not is_job_name(job):
                raise
            found[JobName(job)] = None
        else:
            ((_, loaded),) = source.load_each([path])
            found[JobName(path.stem)] = loaded
    return found


def _record(name: JobName, file: Job | ConfigError | None, annals: Annals, settings: Settings, now: datetime) -> Record:
    versions = [version for version in annals.versions if version.job == name]
    if not isinstance(file, ConfigError):  # Of a broken file, the last good version goes on.
        versions = with_file(versions, name, file, now)
    return record_of(
        name,
        versions,
        next((one for one in annals.standings if one.job == name), None),
        [row for row in annals.rows if row.job == name],
        [run for run in annals.runs if run.job == name],
        settings.calendar_dates,
    )
