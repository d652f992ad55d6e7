"""`kova-auto usage`: what calls of models have used, and what that cost."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Final

import typer

from kova_auto.cli.asking import ask
from kova_auto.cli.frame import new_app
from kova_auto.cli.instants import instant, named
from kova_auto.cli.options import ConfigOption, JsonOption, now_of, settings_of
from kova_auto.cli.output import say, say_json
from kova_auto.cli.usage_rows import usage_lines
from kova_auto.core.day import day_began
from kova_auto.core.duration import parse_duration
from kova_auto.core.errors import ConfigError
from kova_auto.core.schedule.zone import parse_zone
from kova_auto.core.usage import UsageReport, parse_by

if TYPE_CHECKING:
    from kova_auto.app.control import Answers

LATELY: Final = "30d"
_HELP = """\
Show what calls of models have used, and what it cost.

Each row tells how often models were called and how often without a reply, and the tokens: read, those of them that a
cache served and those that were written to one, those that came back, and those of them that were thoughts. A price
that nobody knows is in no sum, which then says "at least".

With --json: rows, total, unpriced_models.
"""

app = new_app(_HELP)


@app.command(help=_HELP)
def usage(
    context: typer.Context,
    *,
    by: Annotated[
        str,
        typer.Option("--by", metavar="PARTS", help="day, job, run, agent, model, iteration, or several: day,model."),
    ] = "day",
    job: Annotated[str | None, typer.Option("--job", metavar="JOB", help="Only runs of this job.")] = None,
    run: Annotated[
        str | None, typer.Option("--run", metavar="RUN", help="Only this run: its id, the beginning of one, or last.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="WHEN",
            help=f"A date (2026-11-01), an instant, or how long ago (7d). {LATELY} without --run.",
            show_default=False,
        ),
    ] = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Add up what was used."""
    settings, parts = settings_of(config), named("--by", parse_by, by)
    zone = settings.timezone
    wanted = since if since is not None or run else LATELY
    begin = named("--since", lambda text: since_of(text, now_of(context), zone), wanted) if wanted else None

    async def question(answers: Answers) -> UsageReport:
        run_id = (await answers.find(run)).run_id if run else None
        return await answers.usage(by, zone, job=job, run_id=run_id, since=begin)

    found = ask(settings, question, kind="usage")
    if json:
        say_json(found.model_dump(mode="json"))
    elif found.rows:
        say("\n".join(usage_lines(found, parts)))
    else:
        say("No model was called" + (f" since {begin.astimezone(parse_zone(zone)):%Y-%m-%d %H:%M}." if begin else "."))


def since_of(text: str, now: datetime, zone: str) -> datetime:
    """Read a date, an instant or how long ago; whole days go back to the beginning of the first of them.

    Raises:
        ConfigError: It is none of these.
    """
    try:
        ago = parse_duration(text)
    except ValueError:
        return instant(text, zone)
    if not isinstance(ago, timedelta) or not ago:
        msg = f"wanted a date, an instant or how long ago, found {text!r}"
        raise ConfigError(msg, hint="for example 2026-11-01 or 7d")
    begin = now - ago
    return day_began(begin, parse_zone(zone)) if ago >= timedelta(days=1) else begin
