"""`kova-auto runs continue`: ask something more in the session of a run that has finished."""

from __future__ import annotations

import asyncio
import secrets
import sys
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from kova_auto.cli.account import Account
from kova_auto.cli.attending import Attendant, TerminalLines
from kova_auto.cli.changes import RunArgument
from kova_auto.cli.ending import see_through
from kova_auto.cli.logs import keep_secrets, log_warnings
from kova_auto.cli.options import ConfigOption, now_of, settings_of
from kova_auto.cli.presses import Presses
from kova_auto.cli.run import level_of
from kova_auto.cli.screen import screen
from kova_auto.cli.through import Through
from kova_auto.clock import SystemClock
from kova_auto.core.approval.levels import ApprovalLevel
from kova_auto.core.errors import ConfigError
from kova_auto.core.ids import RunId
from kova_auto.core.schedule.zone import parse_zone
from kova_auto.settings.environment import environment

if TYPE_CHECKING:
    from kova_auto.core.view import RunRow
    from kova_auto.settings.model import Settings

CONTINUE = """\
Ask something more in the session of a run that has finished, and show what comes of it.

That is a new run: of the same job as that run had it, whatever its file says by now, with PROMPT in place of its
prompt, ceilings of its own, and everything before its eyes that was said. What the earlier run had read from outside
still counts. A job that works in a copy or a worktree gets a new one: what the earlier run left in its own is in it
only once it has been applied (kova-auto runs apply).

PROMPT is taken word for word; - reads it from standard input. Everything else is as for kova-auto run.
"""


@dataclass(frozen=True, slots=True)
class Wish:
    """Hold what the command line asks for."""

    run: str
    prompt: str
    asked_at: datetime
    staged: bool
    level: ApprovalLevel | None
    as_json: bool


def continue_run(
    context: typer.Context,
    run: RunArgument,
    prompt: Annotated[
        str, typer.Argument(metavar="PROMPT", help="What is asked next; - reads it.", show_default=False)
    ],
    *,
    staged: Annotated[
        bool, typer.Option("--staged", help="Write to a copy of the workspace, deliver nothing.")
    ] = False,
    attended: Annotated[
        bool, typer.Option("--attended", help="Ask here, in the terminal, about the calls that need a person.")
    ] = False,
    level: Annotated[
        ApprovalLevel | None,
        typer.Option("--level", help="How much is asked about; with --attended.", show_default="ask"),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Write each fact as one line of JSON.")] = False,
    config: ConfigOption = None,
) -> None:
    """Open the run that goes on with the session, and see it through."""
    if attended and prompt == "-":
        message = "wanted one of --attended and a prompt from standard input, found both"
        raise ConfigError(message, hint="give the prompt itself")
    wish = Wish(
        run=run,
        prompt=sys.stdin.read() if prompt == "-" else prompt,
        asked_at=now_of(context),
        staged=staged,
        level=level_of(level, attended=attended, as_json=json),
        as_json=json,
    )
    settings = settings_of(config)
    log_warnings()
    raise typer.Exit(asyncio.run(_continue(settings, wish)))


async def _continue(settings: Settings, wish: Wish) -> int:
    from kova_auto.app.connect import connected
    from kova_auto.app.control import RunAsk

    async with connected(settings, environment(), kind="run", drives=True) as connection:
        keep_secrets(connection.house)
        before = await connection.control.find(wish.run)
        ask = RunAsk(
            key=secrets.token_hex(2),
            asked_at=wish.asked_at,
            level=wish.level,
            staged=wish.staged,
            continues=before.run_id,
            prompt=wish.prompt,
        )
        row = await connection.control.request(ask)
        account = Account(screen(apart=wish.as_json), as_json=wish.as_json)
        if not wish.as_json:
            for line in _about(before, row):
                account.screen.line(line)
        through = Through(connection, RunId(row.run_id), account, Presses(), SystemClock())
        attendant = Attendant(TerminalLines(), parse_zone(settings.timezone)) if wish.level else None
        return await see_through(through, attendant)


def _about(before: RunRow, row: RunRow) -> list[str]:
    """Return what is to be said before it begins, a line each."""
    lines = [f"continues {before.run_id}"]
    if row.workspace != before.workspace:
        kept = " and was not applied yet" if before.kept else ""
        lines.append(f"it works in {row.workspace}: what that run left in its own workspace is not in it{kept}")
    return lines
