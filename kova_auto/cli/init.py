"""`kova-auto init`: settings and a first job that runs as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kova_auto.cli.first_job import NAME, SCRIPT, first_job, first_script
from kova_auto.cli.frame import new_app
from kova_auto.cli.job_source import JobSource
from kova_auto.cli.new_files import write_job, write_new
from kova_auto.cli.options import ConfigOption
from kova_auto.cli.output import say
from kova_auto.cli.templates import settings_toml
from kova_auto.core.errors import ConfigError
from kova_auto.core.schedule.zone import parse_zone
from kova_auto.settings.environment import environment, local_zone
from kova_auto.settings.load import settings_path

_ABOUT = """\
Write settings and a first job that runs as it is.

The job looks at DIR and may only read. Where no model is configured, a script that is written beside it is played: the
tools really run. Settings that are there already are kept; nothing is ever overwritten.
"""

app = new_app(_ABOUT)


@app.command(help=_ABOUT)
def init(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="What the first job looks at.", show_default="here")
    ] = Path(),
    *,
    config: ConfigOption = None,
) -> None:
    """Write what is not there yet, and say what to do next."""
    if not directory.is_dir():
        message = f"wanted a directory that the first job can look at, found none at {directory}; nothing was written"
        raise ConfigError(message, hint="make it, or name another")
    path = settings_path(config, environment())
    is_new = not path.exists()
    if is_new:
        write_new({path: settings_toml(_zone())})
        say(f"Wrote {path}")
    else:
        say(f"Kept  {path}")
    source = JobSource.with_settings(config)
    job = write_job(source, NAME, first_job(directory.absolute()), beside={SCRIPT: first_script()})
    say(f"Wrote {job}\nWrote {job.with_name(SCRIPT)}\n")
    say(f"Now: kova-auto run {NAME}{f' --config {config}' if config else ''}")


def _zone() -> str:
    try:
        return parse_zone(local_zone(environment())).key
    except ConfigError:  # a machine may name its zone as only it understands
        return "UTC"
