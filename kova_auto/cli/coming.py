"""The instants to come of jobs, each with what becomes of it if it comes too late."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from heapq import merge
from itertools import islice
from pathlib import Path

import typer

from kova_auto.cli.instants import named
from kova_auto.cli.job_rows import JsonDict, iso, local, zone_of
from kova_auto.cli.job_source import JobSource
from kova_auto.cli.options import now_of
from kova_auto.cli.output import complain, say, say_json, table
from kova_auto.cli.seen import first_seen
from kova_auto.core.errors import ConfigError
from kova_auto.core.ids import JobName
from kova_auto.core.job import Job
from kova_auto.core.schedule.late_words import say_late
from kova_auto.core.schedule.sentence import sentence
from kova_auto.core.schedule.timetable import Timetable
from kova_auto.core.schedule.triggers import AfterTrigger, EveryTrigger, StartupTrigger, WebhookTrigger
from kova_auto.scheduling.triggers import timetable_of

_HEAD = ("LOCAL", "UTC", "JOB")


@dataclass(frozen=True, slots=True)
class Coming:
    """Hold one instant to come, and the job that it belongs to."""

    nominal_at: datetime
    job: Job
    timetable: Timetable

    @property
    def late(self) -> str:
        """Return what becomes of it if it comes too late."""
        return say_late(self.job.policy, self.timetable.trigger)

    @property
    def counted(self) -> str:
        """Say from when its grid is counted, where no service has said that yet; else nothing."""
        trigger = self.timetable.trigger
        if not isinstance(trigger, EveryTrigger) or not trigger.is_unseen:
            return ""
        return f"counted from now ({iso(trigger.anchor)}), as no service has seen it; "

    @property
    def due_at(self) -> datetime:
        """Return when it is due: with jitter, after the nominal instant."""
        return self.timetable.due_at(self.nominal_at)

    @property
    def cells(self) -> tuple[str, ...]:
        """Return it as a person reads it."""
        return local(self.nominal_at, zone_of(self.job)), iso(self.nominal_at) or "", self.job.name

    @property
    def json(self) -> JsonDict:
        """Return it as a program reads it; the names stay."""
        zone = zone_of(self.job)
        return {
            "job": self.job.name,
            "nominal_at": iso(self.nominal_at),
            "local": self.nominal_at.astimezone(zone).isoformat(),
            "timezone": zone.key,
            "due_at": iso(self.due_at),
            "late": self.late,
            "seen": not self.counted,
        }


def show_coming(
    context: typer.Context, jobs: Sequence[str], count: int, start: str | None, *, config: Path | None, as_json: bool
) -> None:
    """Show the next instants of the jobs that were named, or of all."""
    source = JobSource.with_settings(config)
    loaded = [found for _, found in source.load_each(source.paths(jobs))]
    now = now_of(context)
    after = named("--from", source.instant, start) if start else now
    timetables = _timetables(source, loaded, now)
    found = _coming(timetables, after, count)
    if as_json:
        say_json([one.json for one in found])
    elif found:
        say(table(_HEAD, [one.cells for one in found]))
        _say_lateness(found)
    elif not any(map(_is_clockless, timetables)):
        say("Nothing runs by itself.")
    if not as_json and (jobs or not found):
        for job, timetable in filter(_is_clockless, timetables):
            say(f"{job.name} runs {sentence(timetable)}.")
    for error in loaded:
        if isinstance(error, ConfigError):
            complain(error.sentence, "left out")


def _timetables(source: JobSource, loaded: Iterable[Job | ConfigError], now: datetime) -> list[tuple[Job, Timetable]]:
    calendars = source.settings.calendar_dates if source.settings else None
    jobs = [job for job in loaded if isinstance(job, Job)]
    seen = first_seen(source.settings, jobs)
    timetables = [(job, timetable_of(job, seen.get(JobName(job.name)), calendars, now=now)) for job in jobs]
    return [(job, timetable) for job, timetable in timetables if timetable]


def _is_clockless(one: tuple[Job, Timetable]) -> bool:
    """Say whether no clock implies when a job runs."""
    return isinstance(one[1].trigger, StartupTrigger | AfterTrigger | WebhookTrigger)


def _coming(timetables: Iterable[tuple[Job, Timetable]], after: datetime, count: int) -> list[Coming]:
    """Return the next instants of all jobs together, strictly after one, oldest first."""
    streams = [_instants(job, timetable, after) for job, timetable in timetables]
    return list(islice(merge(*streams, key=lambda one: one.nominal_at), count))


def _instants(job: Job, timetable: Timetable, after: datetime) -> Iterator[Coming]:
    while (found := timetable.next_open(after)) is not None:
        yield Coming(found, job, timetable)
        after = found


def _say_lateness(found: Sequence[Coming]) -> None:
    """Say of each job what becomes of an instant that comes too late, and up to when jitter may delay it."""
    for name, one in sorted({one.job.name: one for one in reversed(found)}.items()):
        delayed = f"due at {local(one.due_at, zone_of(one.job))} by its jitter; " if one.timetable.jitter else ""
        say(f"{name}: {one.counted}{delayed}{one.late}")
