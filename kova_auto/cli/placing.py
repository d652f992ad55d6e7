"""The workspace that a command line means: a directory, or that of a job."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kova_auto.cli.job_source import JobSource
from kova_auto.core.errors import ConfigError
from kova_auto.core.job import Job

if TYPE_CHECKING:
    from kova_auto.settings.model import Settings

WorkspaceOption = Annotated[
    Path | None,
    typer.Option("--workspace", metavar="DIR", help="The workspace; else the current directory.", show_default=False),
]
JobOption = Annotated[
    str | None,
    typer.Option("--job", metavar="JOB", help="The workspace of this job: a name, or a file.", show_default=False),
]


def job_of(settings: Settings, workspace: Path | None, job: str | None) -> Job | None:
    """Return the job that is named; None where none is.

    Raises:
        ConfigError: A workspace is named besides, or the job is none.
    """
    if job is None:
        return None
    if workspace is not None:
        message = "wanted one of --workspace and --job, found both"
        raise ConfigError(message)
    source = JobSource(settings)
    return source.load(source.paths([job])[0])


def place_of(workspace: Path | None, job: Job | None) -> Path:
    """Return the workspace that is meant, canonical: the job's, the one that is named, or the current directory.

    Raises:
        ConfigError: It is no directory.
    """
    place = Path(job.workspace) if job else (workspace or Path()).absolute()
    if not place.is_dir():
        message = f"wanted a directory, found {'a file' if place.exists() else 'nothing'}"
        raise ConfigError(message, path=str(place), hint="--workspace names where runs work")
    return place.resolve()
