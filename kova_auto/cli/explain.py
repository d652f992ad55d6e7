"""`kova-auto explain`: what would happen to a tool call of a job, and every rule that has a say in it."""

from __future__ import annotations

import asyncio
import json as jsonlib
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Final

import typer
from pydantic import JsonValue

from kova_auto.cli.asking import ask
from kova_auto.cli.explain_instant import explain_instant, is_instant
from kova_auto.cli.explanation_rows import explanation_lines, rejudged_lines, survey_lines
from kova_auto.cli.frame import FAILED, NEEDS_A_PERSON, new_app
from kova_auto.cli.ink import ink
from kova_auto.cli.instants import named
from kova_auto.cli.job_source import JobSource
from kova_auto.cli.logs import log_warnings
from kova_auto.cli.options import ConfigOption, JsonOption, now_of, settings_of
from kova_auto.cli.output import say, say_json
from kova_auto.core.approval.asking import asking_rows, asking_when_tainted
from kova_auto.core.approval.levels import ApprovalLevel, Ruling
from kova_auto.core.approval.policy import Policy
from kova_auto.core.errors import ConfigError
from kova_auto.core.event import Event
from kova_auto.core.job import Job
from kova_auto.settings.environment import environment

if TYPE_CHECKING:
    from kova_auto.app.control import Answers
    from kova_auto.app.explaining import Explainer, Rejudged
    from kova_auto.settings.model import Settings

_UNTRUSTED: Final = "untrusted text"
_MOST_RUNS: Final = 10_000
_HELP = """\
Explain what would happen to a tool call in a run of a job: the verdict, and every rule that has a say in it.

Nothing is executed, and neither the service nor its database is asked. The call is judged as a run that began now would
judge it: where the job's workspace is, with what you and this machine allow beforehand.

With --all, a call of every tool for each way in which it may be judged, and the classes of calls that can ask. With
--since, the recorded calls of the job that would be ruled otherwise today; that reads the database.

With JOB@INSTANT, as nightly@2026-03-28T08:30, why the job did or did not run then: what its schedule implied, what the
ledger says, what came of the run. Without an offset the instant is what the schedule's own clock shows.

Exit codes: 0 the call is allowed; 3 it needs a person, or is denied; 2 the command line or a file is wrong. With --all
0; with --since 1 where a ruling has changed, else 0; with an instant 1 where the schedule implied none, else 0.

With --json: job, mode, level, attended, tool, arguments, verdict, settled (allow, deny, waits), effect, paths, host,
segments, heeds_rules, unread, stages, tainted_by. With --all: calls, a list of these; asking; asking_when_tainted.
With --since: job, since, runs, calls, changed.
"""

app = new_app(_HELP)


@dataclass(frozen=True, slots=True)
class Wish:
    """Hold what was asked for.

    Attributes:
        level: Of an attended run; None for one that nobody attends.
        tainted_by: What the run is taken to have read; empty for none.
    """

    settings: Settings
    job: Job
    now: datetime
    level: ApprovalLevel | None
    tainted_by: str
    as_json: bool

    def explaining(self) -> AbstractAsyncContextManager[Explainer]:
        """Give what explains the job's verdicts."""
        from kova_auto.app.explaining import explaining

        return explaining(self.settings, environment(), self.job, self.now, self.level)


@app.command(help=_HELP)
def explain(
    context: typer.Context,
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="JOB [TOOL [ARGS]]",
            help="Name of a job, or a job file; a tool, as bash; its arguments: a command, a path or an address as it "
            "is, or a JSON object. Or JOB@INSTANT alone.",
            show_default=False,
        ),
    ],
    *,
    every: Annotated[bool, typer.Option("--all", help="Survey every tool.")] = False,
    since: Annotated[
        str | None,
        typer.Option(metavar="WHEN", help="Judge the calls since then anew: 30d, or a date.", show_default=False),
    ] = None,
    attended: Annotated[
        ApprovalLevel | None,
        typer.Option(metavar="LEVEL", help=f"As a run that a person attends: {', '.join(ApprovalLevel)}."),
    ] = None,
    tainted: Annotated[bool, typer.Option("--tainted", help="As a run that has read untrusted text.")] = False,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Explain one verdict, or many; or one instant of a schedule."""
    if is_instant(words) and not every and since is None:
        raise typer.Exit(explain_instant(settings_of(config), words[0], now_of(context), as_json=json))
    name, *call = words
    if len(call) > 2:
        message = f"wanted JOB TOOL ARGS, found {len(call) - 2} more"
        raise ConfigError(message, hint="put the arguments in quotes")
    if [bool(call), every, since is not None].count(True) != 1:
        message = "wanted one of TOOL, --all and --since"
        raise ConfigError(message, hint=f"for example kova-auto explain {name} bash 'git log'")
    if since is not None and (attended or tainted):
        message = "recorded calls are judged as what their runs were: wanted --since without --attended and --tainted"
        raise ConfigError(message)
    log_warnings()
    settings = settings_of(config)
    source = JobSource(settings)
    job = source.load(source.paths([name])[0])
    wish = Wish(settings, job, now_of(context), attended, _UNTRUSTED if tainted else "", json)
    if since is not None:
        raise typer.Exit(_since(wish, since))
    if every:
        asyncio.run(_survey(wish))
        return
    raise typer.Exit(asyncio.run(_one(wish, *call)))


async def _one(wish: Wish, tool: str, text: str = "") -> int:
    async with wish.explaining() as explainer:
        arguments = _arguments(explainer, tool, text)
        told = await explainer.explain(tool, arguments, wish.tainted_by)
    if wish.as_json:
        said = {"tool": tool, "arguments": arguments, **told.model_dump(mode="json")}
        say_json(_under(wish.job, explainer.policy) | said)
    else:
        say("\n".join(explanation_lines(told, tool, arguments, wish.job, explainer.policy, ink())))
    return 0 if told.verdict.ruling is Ruling.ALLOW else NEEDS_A_PERSON


async def _survey(wish: Wish) -> None:
    async with wish.explaining() as explainer:
        found, policy = await explainer.survey(wish.tainted_by), explainer.policy
    if not wish.as_json:
        say("\n".join(survey_lines(found, wish.job, policy, ink())))
        return
    calls = [{"tool": one.tool, "arguments": one.arguments, **one.explanation.model_dump(mode="json")} for one in found]
    classes = {"asking": asking_rows(policy), "asking_when_tainted": asking_when_tainted(policy)}
    say_json(_under(wish.job, policy) | {"calls": calls} | classes)


def _since(wish: Wish, text: str) -> int:
    from kova_auto.cli.usage import since_of

    begin = named("--since", lambda given: since_of(given, wish.now, wish.settings.timezone), text)

    async def question(answers: Answers) -> list[list[Event]]:
        rows = await answers.runs(wish.job.name, unfinished=False, limit=_MOST_RUNS)
        wanted = [row.run_id for row in rows if row.requested_at >= begin]
        return [[placed.event for placed in await answers.events(run_id, 0, 0)] for run_id in wanted]

    runs = ask(wish.settings, question, kind="explain")
    calls, changed = asyncio.run(_rejudged(wish, runs))
    if wish.as_json:
        told = {"since": begin.isoformat(), "runs": len(runs), "calls": calls}
        say_json({"job": wish.job.name} | told | {"changed": [one.model_dump(mode="json") for one in changed]})
    else:
        say("\n".join(rejudged_lines(changed, len(runs), calls, begin, ink())))
    return FAILED if changed else 0


async def _rejudged(wish: Wish, runs: list[list[Event]]) -> tuple[int, list[Rejudged]]:
    calls = 0
    changed: list[Rejudged] = []
    async with wish.explaining() as explainer:
        for events in runs:
            looked, found = await explainer.rejudged(events)
            calls += looked
            changed.extend(found)
    return calls, changed


def _arguments(explainer: Explainer, tool: str, text: str) -> dict[str, JsonValue]:
    """Return a call's arguments: a JSON object as it is, anything else as the one text that matters.

    Raises:
        ConfigError: It begins as an object and is none, or the tool needs one.
    """
    if not text.lstrip().startswith("{"):
        return explainer.arguments(tool, text) if text else {}
    try:
        found = jsonlib.loads(text)
    except ValueError as exc:
        if tool == "bash":  # { is where a group of commands begins, too
            return explainer.arguments(tool, text)
        message = f"wanted a JSON object, found {exc}"
        raise ConfigError(message, key="ARGS") from exc
    return dict(found)


def _under(job: Job, policy: Policy) -> dict[str, object]:
    return {"job": job.name, "mode": policy.mode, "level": policy.level, "attended": policy.attended}
