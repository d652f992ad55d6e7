"""Load job files: one file makes one job, or one error that names everything wrong with it.

Paths in a job file begin at the file; those of `[permissions]` begin at the workspace. A job that was loaded needs
nothing else: its files are read, its paths are absolute, its schedule names its zone.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Final

from kova_auto.core.errors import ConfigError, JobFileError
from kova_auto.core.job import IN_MONEY, Job, JobFile, ScheduleTable
from kova_auto.core.toml.complaints import did_you_mean
from kova_auto.scheduling.checks import (
    check_endpoints,
    check_inputs,
    check_models,
    check_name,
    check_permissions,
    check_schedule,
    check_supported,
)
from kova_auto.scheduling.draft import Draft, read_draft
from kova_auto.scheduling.parts import Parts, read_parts

SUFFIX: Final = ".toml"
_NO_JOBS: Final = (".script.toml", "kova-auto.toml")  # scripts lie beside their jobs; settings may


def load_job(path: Path, *, timezone: str = "UTC", endpoints: Collection[str] | None = None) -> Job:
    """Read one job file.

    Args:
        path: Its stem is the job's name.
        timezone: For a schedule that names none.
        endpoints: Names that may be told; None where the settings are not known.

    Raises:
        JobFileError: Its text and `problems` name everything that is wrong, each with its line.
    """
    draft = read_draft(path)
    parts = read_parts(draft)
    check_name(draft)
    check_schedule(draft)
    check_inputs(draft, parts.prompt)
    check_models(draft)
    check_permissions(draft)
    check_supported(draft)
    if endpoints is not None:
        check_endpoints(draft, endpoints)
    draft.problems.raise_any()
    return _job(draft, parts, timezone)


def load_jobs(
    directory: Path, *, timezone: str = "UTC", endpoints: Collection[str] | None = None
) -> tuple[list[Job], list[JobFileError]]:
    """Read every job file of a directory, by name; those below it, scripts and hidden files are left alone.

    Raises:
        ConfigError: There is no such directory.
    """
    jobs: list[Job] = []
    errors: list[JobFileError] = []
    for path in job_files(directory):
        try:
            jobs.append(load_job(path, timezone=timezone, endpoints=endpoints))
        except JobFileError as exc:
            errors.append(exc)
    return jobs, errors


def job_files(directory: Path) -> list[Path]:
    """Return the job files of a directory, by name.

    Raises:
        ConfigError: There is no such directory.
    """
    try:
        found = sorted(directory.iterdir())
    except OSError as exc:
        message = f"wanted a directory of job files: {exc.strerror or exc}"
        hint = "kova-auto init writes settings and a first job"
        raise ConfigError(message, path=str(directory), key="jobs_dir", hint=hint) from exc
    return [path for path in found if path.suffix == SUFFIX and not path.name.startswith(".") and _is_job(path)]


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


def _is_job(path: Path) -> bool:
    return not path.name.endswith(_NO_JOBS)


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
        "env": parts.env,
        "schedule": _in_zone(draft.file.schedule, timezone),
        "bounds_money": bool(draft.file.limits.model_fields_set & IN_MONEY),
    }
    # Every value is checked already; to do it again would mean to build the model a second time, at each start.
    return Job.model_construct(**{**said, **resolved})


def _in_zone(schedule: ScheduleTable | None, timezone: str) -> ScheduleTable | None:
    if schedule is None or schedule.timezone is not None:
        return schedule
    return schedule.model_copy(update={"timezone": timezone})
