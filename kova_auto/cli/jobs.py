"""`kova-auto jobs`: what is there, what is wrong with it, when it runs next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kova_auto.cli import backfill, calendar, job_next
from kova_auto.cli.asking import change, person
from kova_auto.cli.frame import FAILED, new_app
from kova_auto.cli.instants import named
from kova_auto.cli.job_rows import (
    HEAD,
    JobRow,
    local,
    row_of,
    warnings_of,
    zone_of,
)
from kova_auto.cli.job_source import JobSource
from kova_auto.cli.options import ConfigOption, JsonOption, now_of, settings_of
from kova_auto.cli.output import GREEN, complain, paint, say, say_json, table
from kova_auto.cli.pausing import parked_known, pauses_known, spell_pause
from kova_auto.cli.seen import first_seen
from kova_auto.core.delivery.text import one_line
from kova_auto.core.errors import ConfigError
from kova_auto.core.ids import JobName
from kova_auto.core.job import Job
from kova_auto.core.pausing import Pause
from kova_auto.core.schedule.cron import parse_cron
from kova_auto.core.schedule.zone import parse_zone
from kova_auto.settings.environment import environment

if TYPE_CHECKING:
    from kova_auto.app.control import Control

app = new_app("List, show, check and preview the jobs; write new ones.")

JobArgument = Annotated[str, typer.Argument(metavar="JOB", help="Name of a job, or a job file.", show_default=False)]
JobArguments = Annotated[
    list[str] | None,
    typer.Argument(metavar="JOB", help="Names of jobs, or job files. Without any: all jobs.", show_default=False),
]

_LIST = """\
List the jobs: when each runs, what it may do, what is wrong with its file.

Times are shown in each schedule's own zone.
"""
_CHECK = """\
Check job files, and name everything that is wrong with them.

Files that are named are checked by themselves; with --config, or by name, the settings' endpoints, and the skills and
subagents that are there, are looked at too.
Exits with 1 if anything is wrong.
"""
_PAUSE = """\
Let a job's schedule rest until it is resumed: its instants are skipped, each with its row.

A run that is going on is left alone, and kova-auto run JOB runs it all the same.
"""
_RESUME = """\
Let a paused job's schedule go on, from its next instant.

What was skipped meanwhile stays so; with --catch-up it is treated as if no service had run: policy.missed,
missed_window and missed_max say what still runs.
"""
_SCHEMA = """\
Write the JSON Schema of job files, for editors.

Keep it beside your jobs (kova-auto jobs schema > job.schema.json) and begin each job file with the line
#:schema ./job.schema.json
"""


@app.command("list", help=_LIST, short_help="List the jobs, and what is wrong with a file.")
def list_jobs(context: typer.Context, *, config: ConfigOption = None, json: JsonOption = False) -> None:
    """Show every job of the jobs directory."""
    settings = settings_of(config)
    source = JobSource(settings)
    found = source.load_each(source.paths([]))
    rows = _rows(source, found, now_of(context), pauses_known(settings))
    if any(row.problems for row in rows):
        known = parked_known(settings)
        rows = [replace(row, parked=known.get(JobName(row.name))) if row.problems else row for row in rows]
    if json:
        say_json([row.json for row in rows])
    elif rows:
        say(table(HEAD, [row.cells for row in rows]))
    else:
        say("No jobs yet. kova-auto jobs new NAME writes one.")


@app.command("show", help="Show one job as it is in effect, every default filled in.")
def show(context: typer.Context, job: JobArgument, *, config: ConfigOption = None, json: JsonOption = False) -> None:
    """Write the job as TOML, or its row and all its values as JSON."""
    from kova_auto.cli.templates import effective_toml

    settings = settings_of(config)
    source = JobSource(settings)
    path = source.paths([job])[0]
    loaded = source.load(path)
    pause = pauses_known(settings).get(JobName(loaded.name))
    seen_at = first_seen(settings, [loaded]).get(JobName(loaded.name))
    row = row_of(path, loaded, now_of(context), pause, calendars=settings.calendar_dates, first_seen_at=seen_at)
    if json:
        say_json(row.json | {"job": loaded.model_dump(mode="json", by_alias=True)})
        return
    say(effective_toml(loaded, notes=(row.path, f"Runs {row.runs}.", f"Next: {_following(row, loaded)}")))


@app.command("check", help=_CHECK, short_help="Check job files, and name everything that is wrong.")
def check(
    context: typer.Context, jobs: JobArguments = None, *, config: ConfigOption = None, json: JsonOption = False
) -> None:
    """Say of each file whether it is a job."""
    source = JobSource.for_check(jobs or (), config)
    loaded = source.load_each(source.paths(jobs or ()))
    whole = [(path, _with_agents(_with_skills(_with_script(found), source), source)) for path, found in loaded]
    rows = _rows(source, whole, now_of(context))
    if json:
        say_json([row.json for row in rows])
    else:
        for row in rows:
            _say_checked(row, is_alone=source.settings is None)
    if any(row.problems for row in rows):
        raise typer.Exit(FAILED)


app.command("next", help=job_next.HELP, short_help=job_next.SHORT)(job_next.show_next)


@app.command("new", help="Write a new job file; nothing is ever overwritten.")
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Letters, digits, - and _.", show_default=False)],
    *,
    prompt: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What the agent is to do.", show_default=False)
    ] = None,
    cron: Annotated[
        str | None, typer.Option(metavar="EXPRESSION", help='When it runs, as "30 7 * * MON-FRI".', show_default=False)
    ] = None,
    workspace: Annotated[Path, typer.Option(metavar="DIR", help="Directory it works in.")] = Path(),
    config: ConfigOption = None,
) -> None:
    """Write a job that runs as it is, and say what to do next."""
    from kova_auto.cli.new_files import write_job
    from kova_auto.cli.templates import job_toml

    if cron is not None:
        named("--cron", parse_cron, cron)
    source = JobSource.with_settings(config)
    text = job_toml(prompt=prompt, cron=cron, workspace=workspace.absolute())
    path = write_job(source, name, text)
    say(f"Wrote {path}\n\nEdit it, then: kova-auto jobs check {name}; kova-auto run {name}")


@app.command("pause", help=_PAUSE, short_help="Let a job's schedule rest.")
def pause(
    job: JobArgument,
    *,
    note: Annotated[
        str,
        typer.Option("--note", "--reason", metavar="TEXT", help="Why; it is shown with the job.", show_default=False),
    ] = "",
    config: ConfigOption = None,
) -> None:
    """Let a schedule rest."""
    settings = settings_of(config)
    name = JobSource(settings).paths([job])[0].stem

    async def question(control: Control) -> Pause:
        return await control.pause_job(name, person(), note)

    change(settings, question, kind="jobs")
    say(f"{name} is paused: its instants are skipped until kova-auto jobs resume {name}")


@app.command("resume", help=_RESUME, short_help="Let a paused job's schedule go on.")
def resume(
    job: JobArgument,
    *,
    catch_up: Annotated[
        bool, typer.Option("--catch-up", help="Catch up with what was skipped, as policy.missed says.")
    ] = False,
    config: ConfigOption = None,
) -> None:
    """Let a schedule go on."""
    settings = settings_of(config)
    name = JobSource(settings).paths([job])[0].stem

    async def question(control: Control) -> Pause | None:
        return await control.resume_job(name, person(), catch_up=catch_up)

    rested = change(settings, question, kind="jobs")
    if rested is None:
        say(f"{name} was not paused.")
    else:
        also = ", and catches up with what it skipped" if catch_up else ""
        say(f"{name} goes on{also}; it was {one_line(spell_pause(rested, parse_zone(settings.timezone)), 400)}")


@app.command("schema", help=_SCHEMA)
def schema() -> None:
    """Write what an editor needs to complete and check job files."""
    from kova_auto.cli.templates import job_schema

    say_json(job_schema())


app.command("calendar", help=calendar.HELP, short_help=calendar.SHORT)(calendar.show_calendar)
app.command("backfill", help=backfill.HELP, short_help=backfill.SHORT)(backfill.backfill)


def _following(row: JobRow, job: Job) -> str:
    """Say when a job runs next, or why not."""
    if row.pause:
        return one_line(f"{spell_pause(row.pause, zone_of(job))}; kova-auto jobs resume {job.name}", 400)
    return local(row.next_at, zone_of(job)) if row.next_at else "never by itself"


def _rows(
    source: JobSource,
    loaded: Sequence[tuple[Path, Job | ConfigError]],
    now: datetime,
    pauses: Mapping[JobName, Pause] | None = None,
) -> list[JobRow]:
    known, calendars = pauses or {}, source.settings.calendar_dates if source.settings else None
    seen = first_seen(source.settings, [job for _, job in loaded if isinstance(job, Job)])
    rows = (
        row_of(path, found, now, known.get(name), calendars=calendars, first_seen_at=seen.get(name))
        for path, found in loaded
        for name in [JobName(path.stem)]
    )
    return sorted(rows, key=lambda row: row.name)


def _with_script(loaded: Job | ConfigError) -> Job | ConfigError:
    """Return a job whose script is sound as well, or what is wrong."""
    if isinstance(loaded, ConfigError) or loaded.script is None:
        return loaded
    from kova_auto.app.scripts import check_script

    try:
        check_script(loaded)
    except ConfigError as exc:
        return exc
    return loaded


def _with_skills(loaded: Job | ConfigError, source: JobSource) -> Job | ConfigError:
    """Return a job whose skills are there, as far as that is known without a run, or what is wrong."""
    if isinstance(loaded, ConfigError) or source.settings is None or not loaded.context.skills:
        return loaded
    from kova_auto.app.skills import lacking_skills, skills_of

    with skills_of(source.settings, environment()) as skills:
        why = lacking_skills(skills, loaded)
    if not why:
        return loaded
    return ConfigError(why, path=loaded.path, key="context.skills", hint="kova-auto skills list shows what is there")


def _with_agents(loaded: Job | ConfigError, source: JobSource) -> Job | ConfigError:
    """Return a job whose subagents are defined, or what is wrong."""
    if isinstance(loaded, ConfigError) or source.settings is None or not loaded.agents.allow:
        return loaded
    from kova_auto.app.agents import agents_of
    from kova_auto.app.skills import lacking_for_agents, skills_of

    agents = agents_of(source.settings, environment())
    with skills_of(source.settings, environment()) as skills:
        lacking = [*agents.lacking(loaded), *lacking_for_agents(skills, loaded, agents.roster(loaded))]
    return ConfigError("; ".join(lacking), path=loaded.path, key="agents.allow") if lacking else loaded


def _say_checked(row: JobRow, *, is_alone: bool) -> None:
    """Say what came of a check; what a job names elsewhere is not looked for where its file is checked by itself."""
    for problem in row.problems:
        complain(problem.sentence)
    if row.job is None:
        return
    say(f"{paint('ok', GREEN)}  {row.name}  {row.runs}")
    for warning in warnings_of(row.job):
        complain(f"{row.path}: {warning}", "warning")
    named = ["skills"] * bool(row.job.context.skills) + ["subagents"] * bool(row.job.agents.allow)
    if is_alone and named:
        complain(f"{row.path}: its {' and '.join(named)} were not looked for: name the job, or --config", "note")
