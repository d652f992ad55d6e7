"""`kova-auto jobs next`: when jobs run next and what happens if that is too late; or when cron expressions fire.

It answers programs without importing what only jobs need.
"""

from __future__ import annotations

from typing import Annotated

import typer

from kova_auto.cli.frame import WRONG, new_app
from kova_auto.cli.options import ConfigOption, JsonOption, now_of
from kova_auto.core.errors import ConfigError

HELP = """\
Show when jobs run next, in their own zones and in UTC, and what becomes of an instant that comes too late.

With --jsonl, for programs: reads objects with expr, tz, start and count, one a line, from standard input, and answers
each with one line, {"times": [...]} or {"error": "..."}. No job, settings or database is looked at. Exits with 2 if a
line was no such object.
"""
SHORT = "Show when jobs run next, in their own zones and in UTC."

app = new_app(HELP)


def show_next(
    context: typer.Context,
    jobs: Annotated[
        list[str] | None,
        typer.Argument(metavar="JOB", help="Names of jobs, or job files. Without any: all jobs.", show_default=False),
    ] = None,
    *,
    count: Annotated[
        int, typer.Option("--count", "-n", min=1, max=10_000, metavar="NUMBER", help="How many instants.")
    ] = 10,
    start: Annotated[
        str | None,
        typer.Option("--from", metavar="INSTANT", help="Begin here (2026-03-28T00:00) instead of now."),
    ] = None,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="Answer each line of standard input.")] = False,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Preview the instants that schedules imply."""
    if jsonl:
        _alone(not jobs and start is None)
        from kova_auto.cli.cron_lines import answer_lines

        if not answer_lines(now_of(context)):
            raise typer.Exit(WRONG)
        return
    from kova_auto.cli.coming import show_coming

    show_coming(context, jobs or (), count, start, config=config, as_json=json)


def _alone(is_alone: bool) -> None:  # noqa: FBT001 - the condition is the sentence's
    if not is_alone:
        message = "--jsonl takes expressions from standard input, and no jobs or instants from the command line"
        raise ConfigError(message)


app.command("next", help=HELP, short_help=SHORT)(show_next)
