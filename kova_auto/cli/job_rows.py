"""Show jobs: as rows for a list, as instants to come, and as the values that `--json` promises."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from kova_auto.core.delivery.text import one_line
from kova_auto.core.errors import ConfigError
from kova_auto.core.job import Job
from kova_auto.core.parked import Parked, spell_parked
from kova_auto.core.pausing import PAUSED, Pause
from kova_auto.core.schedule.sentence import sentence
from kova_auto.core.schedule.timetable import Timetable
from kova_auto.core.schedule.triggers import CronTrigger
from kova_auto.scheduling.triggers import UTC_ZONE, Calendars, timetable_of, trigger_of

JsonDict = dict[str, object]
BY_HAND = "by hand"


@dataclass(frozen=True, slots=True)
class JobRow:
    """Hold one job for a list: the job, or what is wrong with its file.

    Attributes:
        timetable: Its schedule; None where it has none.
        next_at: When that has it run; None where it has not, or rests.
        pause: Why the schedule rests; None where it goes on.
        parked: What a live service has of a broken file; None where there is none, or the file is sound.
    """

    name: str
    path: str
    job: Job | None
    problems: tuple[ConfigError, ...]
    timetable: Timetable | None
    next_at: datetime | None
    pause: Pause | None = None
    parked: Parked | None = None

    @property
    def schedule(self) -> str:
        """Return the schedule as a sentence; empty for a job that is only run by hand."""
        return sentence(self.timetable) if self.timetable else ""

    @property
    def runs(self) -> str:
        """Say when it runs, whatever makes it."""
        return self.schedule or BY_HAND

    @property
    def cells(self) -> tuple[str, ...]:
        """Return the row as a person reads it."""
        if self.job is None:
            return self.name, "", PAUSED if self.pause else "", "", "", self._problem
        when = local(self.next_at, zone_of(self.job)) if self.next_at else "-"
        why = one_line(f"paused by {self.pause.by}: {self.pause.reason}".removesuffix(": "), 200) if self.pause else ""
        shown = (self.runs, PAUSED if self.pause else when, self.job.automation, " > ".join(self.job.models))
        return self.name, *shown, why

    @property
    def json(self) -> JsonDict:
        """Return the row as a program reads it; the names stay."""
        job = self.job
        return {
            "name": self.name,
            "path": self.path,
            "description": job.description if job else None,
            "schedule": self.schedule or None,
            "timezone": zone_of(job).key if job and job.schedule else None,
            "next_at": iso(self.next_at),
            "paused": self.pause.model_dump(mode="json", exclude={"job"}) if self.pause else None,
            "mode": job.mode.value if job else None,
            "automation": job.automation.value if job else None,
            "models": list(job.models) if job else None,
            "scripted": job.script is not None if job else None,
            "workspace": job.workspace if job else None,
            "warnings": list(warnings_of(job)) if job else [],
            "problems": [problem_json(problem) for problem in self.problems],
            "goes_on": iso(self.parked.good_at) if self.parked else None,
        }

    @property
    def _problem(self) -> str:
        first, *others = self.problems
        place = f"line {first.line}: " if first.line else ""
        more = f" (and {len(others)} more)" if others else ""
        kept = f"; {spell_parked(self.parked.good_at)}" if self.parked else ""
        return f"{place}{first.key}{': ' if first.key else ''}{first.message}{more}{kept}"


HEAD = ("NAME", "SCHEDULE", "NEXT", "AUTOMATION", "MODEL", "PROBLEM")


def row_of(
    path: Path,
    loaded: Job | ConfigError,
    now: datetime,
    pause: Pause | None = None,
    *,
    calendars: Calendars | None = None,
    first_seen_at: datetime | None = None,
) -> JobRow:
    """Return the row of a job, or of a file that is no job yet.

    Args:
        path: Of its file.
        loaded: The job, or what is wrong with the file.
        now: UTC.
        pause: Why its schedule rests.
        calendars: Of the settings.
        first_seen_at: When a service saw the schedule first; None where none has, or that makes no difference.
    """
    if isinstance(loaded, ConfigError):
        return JobRow(path.stem, str(path.absolute()), None, loaded.problems, None, None, pause)
    timetable = timetable_of(loaded, first_seen_at, calendars, now=now)
    next_at = timetable.next_open(now) if timetable and not pause else None
    return JobRow(loaded.name, loaded.path, loaded, (), timetable, next_at, pause)


def warnings_of(job: Job) -> tuple[str, ...]:
    """Return what a person should know of a schedule that is not wrong."""
    trigger = trigger_of(job)
    crons = trigger.crons if isinstance(trigger, CronTrigger) else ()
    return tuple(warning for cron in crons for warning in cron.warnings)


def zone_of(job: Job) -> ZoneInfo:
    """Return the zone in which a job's schedule is said."""
    return ZoneInfo(job.schedule.timezone or UTC_ZONE if job.schedule else UTC_ZONE)


def local(instant: datetime, zone: ZoneInfo) -> str:
    """Show an instant as the zone's clock does, with its offset; seconds only where there are any."""
    moment = instant.astimezone(zone)
    clock = "%H:%M:%S" if moment.second else "%H:%M"
    return f"{moment.strftime(f'%a %Y-%m-%d {clock}')} {moment.replace(microsecond=0).isoformat()[19:]}"


def iso(instant: datetime | None) -> str | None:
    """Write an instant for a program: UTC, with a Z."""
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z") if instant else None


def problem_json(problem: ConfigError) -> JsonDict:
    """Return a problem as a program reads it."""
    return {
        "path": problem.path,
        "line": problem.line,
        "key": problem.key,
        "message": problem.message,
        "hint": problem.hint,
    }
