"""`kova-auto jobs next`: when jobs run next and what happens if that is too late; or when cron expressions fire."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from heapq import merge
from itertools import islice
from typing import Annotated

import typer

from kova_auto.cli.frame import WRONG
from kova_auto.cli.instants import named
from kova_auto.cli.job_rows import JsonDict, iso, local, zone_of
from kova_auto.cli.job_source import JobSource
from kova_auto.cli.options import ConfigOption, JsonOption, now_of
from kova_auto.cli.output import complain, say, say_json, table
from kova_auto.core.errors import ConfigError
from kova_auto.core.job import Job
from kova_auto.core.schedule.late_words import say_late
from kova_auto.core.schedule.timetable import Timetable
from kova_auto.scheduling.triggers import timetable_of

HELP = """\
Show when jobs run next, in their own zones and in UTC, and what becomes of an instant that comes too late.

With --jsonl, for programs: reads objects with expr, tz, start and count, one a line, from standard input, and answers
each with one line, {"times": [...]} or {"error": "..."}. No job, settings or database is looked at. Exits with 2 if a
line was no such object.
"""
SHORT = "Show when jobs run next, in their own zones and in UTC."
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
        }


def show_next(
    context: typer.Context,
    jobs: Annotated[
        list[str] | None,
        typer.Argument(metavar="JOB", help="Names of jobs, or job files. Without any: all jobs.", show_default=False),
    ] = None,
    *,
    count: Annotated[
        int, typer.Option("--count", "-n", min=1, max=10_000, metavar="NUMBER", help="How many instants.")
    ] = 10,
    start: Annotated[
        str | None,
        typer.Option("--from", metavar="INSTANT", help="Begin here (2026-03-28T00:00) instead of now."),
    ] = None,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="Answer each line of standard input.")] = False,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Preview the instants that schedules imply."""
    if jsonl:
        _alone(not jobs and start is None)
        from kova_auto.cli.cron_lines import answer_lines

        if not answer_lines(now_of(context)):
            raise typer.Exit(WRONG)
        return
    source = JobSource.with_settings(config)
    loaded = [found for _, found in source.load_each(source.paths(jobs or ()))]
    after = named("--from", source.instant, start) if start else now_of(context)
    found = _coming(_timetables(source, loaded), after, count)
    if json:
        say_json([one.json for one in found])
    elif found:
        say(table(_HEAD, [one.cells for one in found]))
        _say_lateness(found)
    else:
        say("Nothing runs by itself.")
    for error in loaded:
        if isinstance(error, ConfigError):
            complain(error.sentence, "left out")


def _alone(is_alone: bool) -> None:  # noqa: FBT001 - the condition is the sentence's
    if not is_alone:
        message = "--jsonl takes expressions from standard input, and no jobs or instants from the command line"
        raise ConfigError(message)


def _timetables(source: JobSource, loaded: Iterable[Job | ConfigError]) -> list[tuple[Job, Timetable]]:
    calendars = source.settings.calendar_dates if source.settings else None
    jobs = [job for job in loaded if isinstance(job, Job)]
    return [(job, timetable) for job in jobs if (timetable := timetable_of(job, calendars=calendars))]


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
        say(f"{name}: {delayed}{one.late}")
