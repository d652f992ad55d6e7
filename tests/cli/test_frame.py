"""The frame of the command line: help, exit codes, and what is not imported."""

from __future__ import annotations

import gc
import subprocess
import sys
from datetime import datetime
from importlib import import_module
from pathlib import Path

import pytest
import typer

from kova_auto import __version__
from kova_auto.cli.frame import exit_code, show_error
from kova_auto.cli.registry import COMMANDS, Entry
from kova_auto.core.errors import ConfigError, JournalBusyError, KovaError, UnknownRunError
from kova_auto.settings.environment import wants_color
from tests.cli.command import Home

HEAVY = ("alembic", "bs4", "httpx", "jinja2", "jsonschema", "pydantic_settings", "rich", "sqlalchemy", "sqlmodel")


def test_the_help_names_every_command(tmp_path: Path) -> None:
    result = Home(tmp_path).run("--help")
    assert result.exit_code == 0
    assert [entry.name for entry in COMMANDS if f"  {entry.name}  " not in result.stdout] == []
    assert "130 interrupted" in result.stdout


@pytest.mark.parametrize("entry", COMMANDS, ids=lambda entry: entry.name)
def test_every_command_is_there_and_explains_itself(tmp_path: Path, entry: Entry) -> None:
    assert isinstance(import_module(entry.module).app, typer.Typer)
    result = Home(tmp_path).run(entry.name, "--help")
    assert (result.exit_code, f"Usage: kova-auto {entry.name}" in result.stdout) == (0, True)


def test_the_version_is_told(tmp_path: Path) -> None:
    assert Home(tmp_path).run("--version").stdout == f"kova-auto {__version__}\n"


def test_a_misspelt_command_is_exit_code_2_with_a_suggestion(tmp_path: Path) -> None:
    result = Home(tmp_path).run("jbos")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Did you mean 'jobs'?" in result.stderr


class Interrupted:
    """Be pressed Ctrl-C at the moment somebody asks for the time."""

    def now(self) -> datetime:
        raise KeyboardInterrupt


def test_an_interrupted_command_is_exit_code_130(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.job("a", 'prompt = "x"')
    result = home.run("jobs", "list", clock=Interrupted())
    assert (result.exit_code, result.stdout) == (130, "")


def test_colour_is_for_terminals_that_want_it() -> None:
    assert wants_color({}, is_terminal=True)
    assert not wants_color({}, is_terminal=False)
    assert not wants_color({"NO_COLOR": "1"}, is_terminal=True)
    assert not wants_color({"TERM": "dumb"}, is_terminal=True)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigError("x"), 2),
        (UnknownRunError("x"), 2),
        (JournalBusyError("x"), 1),
        (KovaError("x"), 1),
    ],
    ids=["a file", "no such run", "the journal", "anything else"],
)
def test_the_exit_code_says_who_must_act(error: KovaError, code: int) -> None:
    assert exit_code(error) == code


def test_each_problem_of_an_error_is_a_line_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    show_error(ConfigError("one", path="a", line=1, others=[ConfigError("two", path="a", line=2, hint="so")]))
    show_error(JournalBusyError("three"))
    assert capsys.readouterr().err == "error: a:1: one\nerror: a:2: two (so)\nerror: three\n"


def imported_by(*args: str) -> set[str]:
    """Return the packages that a command imports, in a process of its own."""
    code = (
        "import sys\nfrom kova_auto.__main__ import main\n"
        f"sys.argv = ['kova-auto', *{args!r}]\n"
        "try:\n    main()\nexcept SystemExit as exc:\n    assert not exc.code, exc.code\n"
        "print('\\0' + ' '.join(sorted({name.partition('.')[0] for name in sys.modules})))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.rpartition("\0")[2].split())


def test_a_command_runs_with_its_garbage_collected(tmp_path: Path) -> None:
    gc.disable()
    try:
        Home(tmp_path).run("jobs", "schema")
        assert gc.isenabled()
    finally:
        gc.enable()


def test_the_help_imports_nothing_heavy() -> None:
    assert imported_by("--help") & {*HEAVY, "pydantic"} == set()


def test_a_check_imports_nothing_heavy(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text('prompt = "x"\nschedule = { cron = "@daily" }')
    assert imported_by("jobs", "check", str(path)) & set(HEAVY) == set()
