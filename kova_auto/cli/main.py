"""The command `kova-auto`."""

from __future__ import annotations

from typing import Annotated

import typer

from kova_auto import __version__
from kova_auto.cli.frame import Frame
from kova_auto.cli.output import say
from kova_auto.cli.registry import COMMANDS

_ABOUT = """\
Runs agent jobs on a schedule while nobody is watching, and tells the places you name what came of them.

A job is a TOML file: when to run, where, what to do, what it may touch, whom to tell. What may happen to a tool call is
decided by your files alone, never by a model.
"""
_MORE = """\
Begin with: kova-auto init. Each command explains itself with --help; listings take --json.

Exit codes: 0 done; 1 the run or check failed; 2 the command line or a file is wrong; 3 blocked or needs a person;
130 interrupted.
"""

app = typer.Typer(
    cls=Frame,
    help=_ABOUT,
    epilog=_MORE,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _show_version(*, wanted: bool) -> None:
    if wanted:
        say(f"kova-auto {__version__}")
        raise typer.Exit


@app.callback()
def frame(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Stand before every command."""


def _elsewhere() -> None:
    """Stand for a command whose module is not imported yet."""


for _entry in COMMANDS:
    app.command(_entry.name, help=_entry.help)(_elsewhere)
