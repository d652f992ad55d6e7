"""Hold the commands together: import a command's module only when it is asked for, and turn errors into sentences.

Exit codes: 0 done, 1 the run or check failed, 2 the command line or a file is wrong, 3 blocked or needs a person,
130 interrupted.
"""

from __future__ import annotations

import gc
from importlib import import_module
from typing import TYPE_CHECKING, Final

import typer
from typer.core import TyperGroup

from kova_auto.cli.output import complain
from kova_auto.cli.registry import COMMANDS, QUICK
from kova_auto.core.errors import ConfigError, KovaError, UnknownRunError

if TYPE_CHECKING:
    from typer._click import Command, Context, HelpFormatter

FAILED: Final = 1
WRONG: Final = 2
NEEDS_A_PERSON: Final = 3


def new_app(about: str) -> typer.Typer:
    """Return an empty group of commands; with one command it is that command."""
    return typer.Typer(
        help=about,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )


class Frame(TyperGroup):
    """Find commands in the registry."""

    def get_command(self, _ctx: Context, cmd_name: str) -> Command | None:
        """Import the module of a command."""
        entry = next((entry for entry in COMMANDS if entry.name == cmd_name), None)
        if entry is None:
            return None
        return _imported(entry.module, cmd_name)

    def resolve_command(self, ctx: Context, args: list[str]) -> tuple[str | None, Command | None, list[str]]:
        """Find a command by the first words, without its group if it has a module of its own."""
        module = QUICK.get((args[0], args[1])) if len(args) > 1 else None
        if module is None:
            return super().resolve_command(ctx, args)
        name = " ".join(args[:2])
        return name, _imported(module, name), args[2:]

    def format_commands(self, _ctx: Context, formatter: HelpFormatter) -> None:
        """List the commands from the registry alone."""
        for section in dict.fromkeys(entry.section for entry in COMMANDS):
            with formatter.section(section):
                formatter.write_dl([(entry.name, entry.help) for entry in COMMANDS if entry.section == section])

    def invoke(self, ctx: Context) -> object:
        """Run a command; what a person must mend is said in sentences, without a traceback."""
        try:
            return super().invoke(ctx)
        except KovaError as exc:
            show_error(exc)
            raise typer.Exit(exit_code(exc)) from exc


def _imported(module: str, name: str) -> Command:
    command = typer.main.get_command(import_module(module).app)
    command.name = name
    gc.enable()  # see `kova_auto.__main__`
    return command


def show_error(error: KovaError) -> None:
    """Say what is wrong on standard error, one line for each problem."""
    problems = error.problems if isinstance(error, ConfigError) else ()
    for sentence in [problem.sentence for problem in problems] or [str(error)]:
        complain(sentence)


def exit_code(error: KovaError) -> int:
    """Return the exit code of an error: 2 where the command line or a file must change, else 1."""
    return WRONG if isinstance(error, ConfigError | UnknownRunError) else FAILED
