"""Load job files: one file makes one job, or one error that names everything wrong with it.

Paths in a job file begin at the file; those of `[permissions]` begin at the workspace. A job that was loaded needs
nothing else: its files are read, its paths are absolute, its schedule names its zone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from pathlib import Path
from typing import Final

from kova_auto.core.errors import ConfigError, JobFileError
from kova_auto.core.ids import JobName
from kova_auto.core.job import IN_MONEY, Job, JobFile, ScheduleTable
from kova_auto.core.toml.complaints import did_you_mean
from kova_auto.scheduling.checks import (
    check_endpoints,
    check_inputs,
    check_models,
    check_name,
    check_output,
    check_permissions,
    check_schedule,
)
from kova_auto.scheduling.dependencies import dependency_errors
from kova_auto.scheduling.draft import Draft, read_draft
from kova_auto.scheduling.goal_checks import check_goal
from kova_auto.scheduling.hook_checks import check_webhook, settled_webhook
from kova_auto.scheduling.mcp_checks import check_mcp
from kova_auto.scheduling.parts import Parts, read_parts
from kova_auto.scheduling.triggers import Calendars
from kova_auto.settings.text import absolute

SUFFIX: Final = ".toml"
_NO_JOBS: Final = (".script.toml", "kova-auto.toml")  # scripts lie beside their jobs; settings may


def load_job(
    path: Path,
    *,
    timezone: str = "UTC",
    endpoints: Collection[str] | None = None,
    calendars: Calendars | None = None,
) -> Job:
    """Read one job file.

    Args:
        path: Its stem is the job's name.
        timezone: For a schedule that names none.
        endpoints: Names that may be told; None where the settings are not known.
        calendars: What a schedule may exclude; None where the settings are not known.

    Raises:
        JobFileError: Its text and `problems` name everything that is wrong, each with its line.
    """
    draft = read_draft(path)
    parts = read_parts(draft)
    check_name(draft)
    check_schedule(draft, timezone, calendars)
    check_webhook(draft)
    check_inputs(draft, parts.prompt)
    check_models(draft)
    check_permissions(draft)
    check_mcp(draft)
    check_goal(draft)
    check_output(draft)
    if endpoints is not None:
        check_endpoints(draft, endpoints)
    draft.problems.raise_any()
    job = _job(draft, parts, timezone)
    draft.problems.raise_any()
    return job


def load_jobs(
    directory: Path,
    *,
    timezone: str = "UTC",
    endpoints: Collection[str] | None = None,
    calendars: Calendars | None = None,
) -> tuple[list[Job], list[JobFileError]]:
    """Read every job file of a directory, by name; those below it, scripts and hidden files are left alone.

    Jobs that wait for others are checked together: one that waits for itself in the end is an error.

    Raises:
        ConfigError: There is no such directory.
    """
    jobs: list[Job] = []
    errors: list[JobFileError] = []
    paths = job_files(directory)
    for path in paths:
        try:
            jobs.append(load_job(path, timezone=timezone, endpoints=endpoints, calendars=calendars))
        except JobFileError as exc:
            errors.append(exc)
    depending = dependency_errors(jobs, {path.stem for path in paths})
    return [job for job in jobs if JobName(job.name) not in depending], [*errors, *depending.values()]


def job_files(directory: Path) -> list[Path]:
    """Return the job files of a directory, by name.

    Raises:
        ConfigError: There is no such directory.
    """
    try:
        names = sorted(path.name for path in directory.iterdir())
    except OSError as exc:
        raise no_directory(directory, exc) from exc
    return [directory / name for name in names if is_job_file(name)]


def no_directory(directory: Path, exc: OSError) -> ConfigError:
    """Say that a directory of job files cannot be read."""
    message = f"wanted a directory of job files: {exc.strerror or exc}"
    hint = "kova-auto init writes settings and a first job"
    return ConfigError(message, path=str(directory), key="jobs_dir", hint=hint)


def is_job_file(name: str) -> bool:
    """Say whether a file of this name, in a directory of job files, is meant to be one."""
    return name.endswith(SUFFIX) and not name.startswith(".") and not name.endswith(_NO_JOBS)


def drawn_in(path: Path) -> tuple[Path, ...]:
    """Return the files that a job file names, as far as it can be read, whether they are there or not."""
    try:
        draft = read_draft(path)
    except JobFileError:
        return ()
    return files_of(draft.file, draft.path)


def files_of(file: JobFile, path: Path) -> tuple[Path, ...]:
    """Return the files that a job draws in; relative ones begin at its own file, which is given canonical."""
    found: list[Path] = []
    for named in (file.prompt_file, file.script, file.output.schema_file):
        if named:
            with contextlib.suppress(ConfigError):  # It is said where the file is read.
                found.append(absolute(named, path.parent))
    return tuple(found)


def find_job(job: str, directory: Path) -> Path:
    """Return the file of a job that a person named: a file, or a name in the directory.

    Raises:
        ConfigError: There is no such job.
    """
    if is_path(job):
        return Path(job)
    path = directory / f"{job}{SUFFIX}"
    if path.is_file():
        return path
    names = [known.stem for known in job_files(directory)]
    hint = did_you_mean(job, names) or "kova-auto jobs list shows them"
    message = f"wanted the name of a job or a file, found no job {job!r}"
    raise ConfigError(message, path=str(directory), hint=hint)


def is_path(job: str) -> bool:
    """Say whether what a person named is a file rather than a name."""
    return job.endswith(SUFFIX) or "/" in job


def _job(draft: Draft, parts: Parts, timezone: str) -> Job:
    said = {name: getattr(draft.file, name) for name in JobFile.model_fields}
    resolved = {
        "name": draft.name,
        "path": str(draft.path),
        "prompt": parts.prompt,
        "workspace": parts.workspace,
        "script_text": parts.script_text,
        "schema_text": parts.schema_text,
        "permissions": parts.permissions,
        "context": parts.context,
        "env": parts.env,
        "schedule": _in_zone(draft, draft.file.schedule, timezone),
        "bounds_money": bool(draft.file.limits.model_fields_set & IN_MONEY),
    }
    # Every value is checked already; to do it again would mean to build the model a second time, at each start.
    return Job.model_construct(**{**said, **resolved})


def _in_zone(draft: Draft, schedule: ScheduleTable | None, timezone: str) -> ScheduleTable | None:
    if schedule is None:
        return None
    webhook = settled_webhook(draft, schedule.webhook) if schedule.webhook else None
    return schedule.model_copy(update={"timezone": schedule.timezone or timezone, "webhook": webhook})
