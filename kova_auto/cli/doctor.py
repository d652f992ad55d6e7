"""`kova-auto doctor`: whether everything is as it must be, and what to do where it is not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kova_auto.cli.frame import FAILED, new_app
from kova_auto.cli.logs import log_warnings
from kova_auto.cli.options import ConfigOption, JsonOption, now_of, settings_of
from kova_auto.cli.output import GREEN, RED, YELLOW, paint, say, say_json
from kova_auto.core.delivery.document import count
from kova_auto.core.delivery.text import clean
from kova_auto.core.errors import SettingsError
from kova_auto.settings.environment import environment

if TYPE_CHECKING:
    from kova_auto.app.finding import Finding
    from kova_auto.settings.model import Settings

_ABOUT = """\
Look at everything that runs depend on, and say what to do where it is not as it must be.

Settings and secrets, the data directory, the confinement of commands, each job with the model it would get now, each
provider (its key by a question that costs nothing), servers of models on this machine. It sees the secrets of this
terminal, which may be others than the service's. No secret is ever shown.

With --json: a list of objects with check, name, mark, text. Exits with 1 if anything failed.
"""
_COLORS = {"ok": GREEN, "warn": YELLOW, "fail": RED}

app = new_app(_ABOUT)


@app.command(help=_ABOUT)
def doctor(
    context: typer.Context,
    *,
    offline: Annotated[bool, typer.Option("--offline", help="Ask nobody anything over a connection.")] = False,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Examine the service, a line for each thing."""
    show = _nothing if json else _show
    found = _found(config, now_of(context), show, offline=offline)
    failed = sum(finding.mark == "fail" for finding in found)
    if json:
        say_json([{"check": one.check, "name": one.name, "mark": one.mark, "text": one.text} for one in found])
    else:
        warned = sum(finding.mark == "warn" for finding in found)
        say(f"{count(failed, 'failure')}, {count(warned, 'warning')}")
    if failed:
        raise typer.Exit(FAILED)


def _found(config: Path | None, now: datetime, show: Callable[[Finding], None], *, offline: bool) -> list[Finding]:
    from kova_auto.app.finding import Finding, Mark

    try:
        settings = settings_of(config)
    except SettingsError as exc:
        found = [Finding("settings", problem.path, Mark.FAIL, problem.sentence) for problem in exc.problems]
        for finding in found:
            show(finding)
        return found
    log_warnings()
    return asyncio.run(_examined(settings, now, show, offline=offline))


async def _examined(
    settings: Settings, now: datetime, show: Callable[[Finding], None], *, offline: bool
) -> list[Finding]:
    from kova_auto.app.doctor import examine

    found = []
    async for finding in examine(settings, environment(), now, offline=offline):
        found.append(finding)
        show(finding)
    return found


def _show(finding: Finding) -> None:
    mark = paint(f"{finding.mark:<4}", _COLORS[finding.mark])
    say(f"{mark}  {finding.check:<8}  {finding.name}: {clean(finding.text)}")


def _nothing(_finding: Finding) -> None:
    """Show nothing yet: a program is told everything at once."""
