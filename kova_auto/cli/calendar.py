"""`kova-auto jobs calendar`: every instant that schedules implied, what became of it, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Annotated

import typer

from kova_auto.cli.accounted import accounted
from kova_auto.cli.calendar_lines import CALENDAR_HEAD, cells, line_json
from kova_auto.cli.frame import FAILED
from kova_auto.cli.instants import named
from kova_auto.cli.job_source import JobSource
from kova_auto.cli.options import ConfigOption, JsonOption, now_of, settings_of
from kova_auto.cli.output import complain, say, say_json, table
from kova_auto.core.errors import ConfigError
from kova_auto.core.schedule.calendar import Fate, Line

HELP = """\
Show every instant that schedules implied, what became of it, how late, and why.

What was implied is computed anew, from each version that a schedule has had; beside it is what the ledger says. So an
instant that the ledger has gone past without a row is named: missing.

ran, pending, skipped and missed are what the ledger says; upcoming is still to come; due has come, and no service has
looked since; superseded was never looked at before the schedule was changed. Nothing is moved or run by looking.
"""
SHORT = "Show every instant, what became of it, and why."
_BEFORE, _AFTER = timedelta(days=7), timedelta(days=1)
_INSTANT = "As 2026-03-28 or 2026-03-28T08:30, on the service's clock."

Jobs = Annotated[
    list[str] | None,
    typer.Argument(metavar="JOB", help="Names of jobs, those that are gone too. Without any: all.", show_default=False),
]
Since = Annotated[
    str | None,
    typer.Option("--from", metavar="INSTANT", help=f"Begin here, included; else 7 days ago. {_INSTANT}"),
]
Until = Annotated[
    str | None,
    typer.Option("--to", metavar="INSTANT", help="End here, not included; else in a day. A date is its midnight."),
]


def show_calendar(
    context: typer.Context,
    jobs: Jobs = None,
    *,
    since: Since = None,
    until: Until = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=100_000, metavar="NUMBER", help="How many lines, the oldest.")
    ] = 1000,
    check: Annotated[bool, typer.Option("--check", help="Exit with 1 if a row is missing.")] = False,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Show what schedules came to."""
    settings, now = settings_of(config), now_of(context)
    begin, end = stretch(JobSource(settings), since, until, now)
    found = accounted(settings, jobs or (), begin, end, now)
    lines, zones = found.lines(limit + 1), found.zones()
    shown = lines[:limit]
    if json:
        say_json([line_json(line, zones[line.job]) for line in shown])
    elif shown:
        say(table(CALENDAR_HEAD, [cells(line, zones[line.job]) for line in shown]))
    else:
        say("No schedule implied anything there.")
    if len(lines) > limit or found.is_cut:
        complain("there is more; ask for a shorter time, for fewer jobs, or with a greater --limit", "left out")
    if _missing(shown) and check:
        raise typer.Exit(FAILED)


def stretch(source: JobSource, since: str | None, until: str | None, now: datetime) -> tuple[datetime, datetime]:
    """Return from when to when, UTC: the last week and the next day, where it is not said.

    Raises:
        ConfigError: One is no instant, or the end is not behind the beginning.
    """
    begin = named("--from", source.instant, since) if since else None
    end = named("--to", source.instant, until) if until else None
    if begin is None:
        begin = min(now, end or now) - _BEFORE
    if end is None:
        end = max(now, begin) + _AFTER
    if end <= begin:
        message = f"wanted an end behind the beginning, found {begin.isoformat()} to {end.isoformat()}"
        raise ConfigError(message, key="--to", hint="the end is not included, and a date is its midnight")
    return begin, end


def _missing(lines: Iterable[Line]) -> bool:
    """Name what has no row, and say whether anything has none."""
    missing = Counter(line.job for line in lines if line.fate is Fate.MISSING)
    for job, count in sorted(missing.items()):
        rows = "1 row is" if count == 1 else f"{count} rows are"
        complain(f"{job}: {rows} missing: the ledger has gone past the instant", "missing")
    return bool(missing)
