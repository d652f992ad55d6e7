"""`kova-auto run`: one run now, shown as it goes on."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kova_auto.cli.account import Account
from kova_auto.cli.attending import Attendant, TerminalLines
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
from kova_auto.core.approval.levels import ApprovalLevel
from kova_auto.core.delivery.text import clean
from kova_auto.core.errors import ConfigError
from kova_auto.core.schedule.zone import parse_zone
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

Its subagents are shown beneath their names; with --json they are not, and kova-auto runs tail RUN~CALL --json is.

With --attended the run's calls, and those of its subagents, are judged at --level (ask, workspace-write, auto-edit or
auto) in place of the job's automation level, and what needs a person is asked here: once, always, or no. Ctrl-C at such
a question leaves the run waiting; kova-auto approvals answers it later.

Ctrl-C once ends the run and its subagents; twice leaves it as it is, and the next service goes on with it.

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
    level: ApprovalLevel | None = None


@app.command(help=_ABOUT)
def run(  # noqa: PLR0913  # each is an option that a person types
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
    attended: Annotated[
        bool, typer.Option("--attended", help="Ask here, in the terminal, about the calls that need a person.")
    ] = False,
    level: Annotated[
        ApprovalLevel | None,
        typer.Option("--level", help="How much is asked about; with --attended.", show_default="ask"),
    ] = None,
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
    wish = Wish(
        job=Path(path),
        inputs=_inputs(given or ()),
        staged=staged,
        listens=listen,
        as_json=json,
        record=record,
        asked_at=now_of(context),
        level=level_of(level, attended=attended, as_json=json),
    )
    log_warnings()
    raise typer.Exit(asyncio.run(_run(settings, wish)))


def level_of(level: ApprovalLevel | None, *, attended: bool, as_json: bool) -> ApprovalLevel | None:
    """Return the level of a run that somebody attends; None where nobody does.

    Raises:
        ConfigError: Nobody can be asked here.
    """
    if not attended:
        if level is not None:
            msg = f"--level {level} is how much an attended run asks about: wanted --attended with it"
            raise ConfigError(msg, hint="without --attended the job's own automation level counts")
        return None
    if as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        msg = "--attended asks in the terminal: wanted one on standard input and output, found none"
        raise ConfigError(msg, hint="without --attended, what needs a person is settled as the job's [approval] says")
    return level or ApprovalLevel.ASK


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
        ask = RunAsk(
            job=str(wish.job),
            key=key,
            asked_at=wish.asked_at,
            inputs=wish.inputs,
            level=wish.level,
            staged=wish.staged,
        )
        if wish.listens:
            heard, listener = await stack.enter_async_context(listening(key, secrets.token_bytes(32), SystemClock()))
            ask = ask.model_copy(update={"listener": listener})
        row = await connection.control.request(ask)
        account = Account(screen(apart=wish.as_json), as_json=wish.as_json)
        through = Through(connection, row.run_id, account, Presses(), SystemClock())
        attendant = Attendant(TerminalLines(), parse_zone(settings.timezone)) if wish.level else None
        code = await see_through(through, attendant)
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

        _write(wish.record, recorded(account.events, through.following.facts))
        line(f'wrote {wish.record}: script = "{wish.record.name}" in the job plays this run again')


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as exc:
        message = f"wanted to write it: {exc.strerror}"
        raise ConfigError(message, path=str(path), key="--record") from exc
