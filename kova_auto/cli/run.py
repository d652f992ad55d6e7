"""`kova-auto run`: one run now, shown as it goes on."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kova_auto.cli.account import Account
from kova_auto.cli.ending import see_through
from kova_auto.cli.frame import new_app
from kova_auto.cli.job_source import JobSource
from kova_auto.cli.listen import listening, received_lines
from kova_auto.cli.logs import keep_secrets, log_warnings
from kova_auto.cli.options import ConfigOption, now_of, settings_of
from kova_auto.cli.presses import Presses
from kova_auto.cli.screen import screen
from kova_auto.cli.through import Through
from kova_auto.clock import SystemClock
from kova_auto.core.delivery.text import clean
from kova_auto.core.errors import ConfigError
from kova_auto.settings.environment import environment

if TYPE_CHECKING:
    from kova_auto.delivery.receiver import Receiver
    from kova_auto.settings.model import Settings

_ABOUT = """\
Run a job once, now, and show what it does.

With a live service (kova-auto serve) that one is asked to run it, and followed; else this command does it all by
itself, its deliveries included. On a terminal everything is shown in its order; elsewhere the final answer alone goes
to standard output and the rest to standard error, so that kova-auto run JOB > report.md works.

With --json each fact of the run is one line, {"seq": its position, "event": {"kind": …, "at": …, …}}.

Ctrl-C once ends the run; twice leaves it as it is, and the next service goes on with it.

Exit codes: 0 done, or nothing to report; 1 it failed; 2 the job file or the command line is wrong; 3 it is blocked or
waits for a person; 130 interrupted.
"""

app = new_app(_ABOUT)


@dataclass(frozen=True, slots=True)
class Wish:
    """Hold what the command line asks for."""

    job: Path
    inputs: dict[str, str]
    staged: bool
    listens: bool
    as_json: bool
    record: Path | None
    asked_at: datetime


@app.command(help=_ABOUT)
def run(
    context: typer.Context,
    job: Annotated[str, typer.Argument(metavar="JOB", help="Name of a job, or a job file.", show_default=False)],
    *,
    given: Annotated[
        list[str] | None,
        typer.Option("--input", metavar="NAME=VALUE", help="A value for an input of the job; may be repeated."),
    ] = None,
    staged: Annotated[
        bool, typer.Option("--staged", help="Write to a copy of the workspace, show the diff, deliver nothing.")
    ] = False,
    listen: Annotated[
        bool, typer.Option("--listen", help="Deliver to a receiver on loopback alone, and show what it received.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Write each fact as one line of JSON.")] = False,
    record: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a script that plays this run again.", show_default=False)
    ] = None,
    config: ConfigOption = None,
) -> None:
    """Open one run and see it through."""
    settings = settings_of(config)
    source = JobSource(settings)
    path = source.load(source.paths([job])[0]).path
    if staged and listen:
        msg = "wanted one of --staged and --listen, found both: a staged run delivers nothing"
        raise ConfigError(msg)
    if record and not record.absolute().parent.is_dir():
        message = "wanted a file in a directory that is there"
        raise ConfigError(message, path=str(record), key="--record")
    wish = Wish(Path(path), _inputs(given or ()), staged, listen, json, record, now_of(context))
    log_warnings()
    raise typer.Exit(asyncio.run(_run(settings, wish)))


def _inputs(given: Sequence[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in given]
    for text, (name, equals, _) in zip(given, pairs, strict=True):
        if not (name and equals):
            msg = f"--input: wanted NAME=VALUE, found {text!r}"
            raise ConfigError(msg)
    return {name: value for name, _, value in pairs}


async def _run(settings: Settings, wish: Wish) -> int:
    from kova_auto.app.connect import connected
    from kova_auto.app.control import RunAsk

    async with contextlib.AsyncExitStack() as stack:
        connection = await stack.enter_async_context(connected(settings, environment(), kind="run", drives=True))
        keep_secrets(connection.house)
        key = secrets.token_hex(2)
        heard = None
        ask = RunAsk(job=str(wish.job), key=key, asked_at=wish.asked_at, inputs=wish.inputs, staged=wish.staged)
        if wish.listens:
            heard, listener = await stack.enter_async_context(listening(key, secrets.token_bytes(32), SystemClock()))
            ask = ask.model_copy(update={"listener": listener})
        row = await connection.control.request(ask)
        account = Account(screen(apart=wish.as_json), as_json=wish.as_json)
        through = Through(connection, row.run_id, account, Presses(), SystemClock())
        code = await see_through(through)
        await _show_more(through, wish, heard)
    return code


async def _show_more(through: Through, wish: Wish, heard: Receiver | None) -> None:
    """Show what was asked for besides the run itself."""
    account, line = through.account, through.account.screen.line
    if heard:
        line()
        line(f"received at {heard.url}" if heard.received else f"nothing was received at {heard.url}")
        for received in heard.received:
            for text in received_lines(received, account.screen.ink):
                line(text)
    if wish.staged and account.state.finished:
        line()
        line(clean(await through.connection.control.diff(through.run_id)).rstrip("\n") or "it changed no file")
    if wish.record and account.state.finished:
        from kova_auto.app.recording import recorded

        _write(wish.record, recorded(account.events))
        line(f'wrote {wish.record}: script = "{wish.record.name}" in the job plays this run again')


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as exc:
        message = f"wanted to write it: {exc.strerror}"
        raise ConfigError(message, path=str(path), key="--record") from exc
