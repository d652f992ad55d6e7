"""`kova-auto runs`: what ran, what is running, and what to do about one of them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from kova_auto.cli.acting import act, through_of
from kova_auto.cli.asking import ask, change, person
from kova_auto.cli.changes import APPLY, DISCARD, RunArgument, apply, discard
from kova_auto.cli.continuing import CONTINUE, continue_run
from kova_auto.cli.ending import INTERRUPTED, code_of
from kova_auto.cli.export import EXPORT, export
from kova_auto.cli.frame import FAILED, new_app
from kova_auto.cli.ink import ink
from kova_auto.cli.listing import listing
from kova_auto.cli.logs import keep_secrets
from kova_auto.cli.loop import loop_lines
from kova_auto.cli.options import ConfigOption, JsonOption, settings_of
from kova_auto.cli.output import complain, say, say_json
from kova_auto.cli.replay import replay_lines
from kova_auto.cli.run_rows import HEAD, Branch, by_jobs, cells, run_json, run_lines, under_jobs
from kova_auto.cli.screen import screen
from kova_auto.core.delivery.text import clean
from kova_auto.core.errors import IllegalEventError
from kova_auto.core.ids import RunId
from kova_auto.core.loop.values import LoopView
from kova_auto.core.loop.view import loop_view, narrowed
from kova_auto.core.replay import Replay
from kova_auto.core.run import Execution
from kova_auto.core.schedule.zone import parse_zone
from kova_auto.core.view import RunRow
from kova_auto.settings.environment import environment

if TYPE_CHECKING:
    from kova_auto.app.control import Answers, Control, Undone
    from kova_auto.app.family import Kin
    from kova_auto.settings.model import Settings

app = new_app("List and follow runs; show, export, replay, undo, apply, cancel and retry one.")

_LIST = f"""\
List runs, newest first; with --by-job, the job first whose newest run is the newest.

What runs have dispatched is only counted, and stands beneath them with --children: their ids are RUN~CALL.

With --json: a list of objects with {", ".join(RunRow.model_fields)}. Instants are UTC.
"""
_SHOW = """\
Show what came of one run: status, answer, usage, subagents, calls, deliveries. runs loop shows all that it did.

Of a subagent: its id is RUN~CALL, and last~CALL one of the newest run.

With --json: run (as in runs list), why, attempts, answer, context, calls, usage, subagents (as in runs list),
deliveries (as in deliveries list).
"""
_TAIL = """\
Follow a run and its subagents until it has finished; Ctrl-C leaves it alone.

With --json each fact is one line, {"seq": its position, "event": {"kind": …, "at": …, …}}. Exit codes as for run.
"""
_LOOP = f"""\
Show a run as a loop, and why it stopped.

Of each iteration: what it was trying to do, how much the model had before it, what it used and what that cost; each
call with what was ruled and why, who answered for it, how long it took, and what came back. Times are running time:
waiting for a person is apart. The loop of a subagent stands in the call that dispatched it.

With --json: {", ".join(LoopView.model_fields)}.
"""
_DIFF = """\
Show what a run and its subagents wrote, as a unified diff.

Of a run in a copy or worktree: all that differs from what it began with, what its commands did included.
"""
_UNDO = """\
Take back what a run and its subagents wrote.

The journal kept the contents. Where a file has changed since, nothing is touched: those files are listed, and the exit
code is 1.
"""
_REPLAY = f"""\
Replay a recorded run, and show where it differs; nothing is executed, and nothing written down.

Calls bring what they brought then. Its recorded replies are played, or with --model another model is asked, at its
price: then the replay ends at the first call that the recording does not hold. Exit codes: 0 no difference, 1 any.

With --json: {", ".join(Replay.model_fields)}.
"""
_RETRY = """\
Begin a further attempt of a finished run.

It starts anew, and is seen through as by run. Exit codes as for run.
"""


@app.command("list", help=_LIST)
def list_runs(
    *,
    job: Annotated[str | None, typer.Option("--job", metavar="JOB", help="Only runs of this job.")] = None,
    unfinished: Annotated[bool, typer.Option("--unfinished", help="Only runs that have not finished.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="How many.")] = 20,
    by_job: Annotated[bool, typer.Option("--by-job", help="Each job's together.")] = False,
    children: Annotated[bool, typer.Option("--children", help="With subagents, each beneath its run.")] = False,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Show runs in a table."""
    settings = settings_of(config)

    async def question(answers: Answers) -> list[Branch]:
        rows = await answers.runs(job, unfinished=unfinished, limit=limit)
        return [(row, await answers.family(row.run_id) if children or not json else ()) for row in rows]

    branches = ask(settings, question, kind="runs")
    if by_job:
        jobs = list(dict.fromkeys(row.job for row, _ in branches))
        branches.sort(key=lambda branch: jobs.index(branch[0].job))
    rows = [row for own, others in branches for row in (own, *(others if children else ()))]
    groups = by_jobs(rows) if by_job else {}
    if json:
        say_json([row.model_dump(mode="json") for row in rows])
    elif rows:
        zone, counts = parse_zone(settings.timezone), {own.run_id: len(others) for own, others in branches}
        shown = listing(HEAD, [cells(row, zone, counts.get(row.run_id, 0)) for row in rows], ink()).split("\n")
        say("\n".join(under_jobs(shown, groups, ink()) if groups else shown))
    else:
        say("No runs. kova-auto run JOB makes one.")


@app.command("show", help=_SHOW)
def show(run: RunArgument, *, config: ConfigOption = None, json: JsonOption = False) -> None:
    """Show one run."""
    settings = settings_of(config)
    kin = _kin(settings, run)
    if json:
        say_json(run_json(kin.state, kin.events, kin.descendants))
    else:
        say("\n".join(run_lines(kin.state, parse_zone(settings.timezone), ink(), kin.descendants)))


@app.command("tail", help=_TAIL)
def tail(run: RunArgument, *, config: ConfigOption = None, json: JsonOption = False) -> None:
    """Follow one run."""
    raise typer.Exit(asyncio.run(_tail(settings_of(config), run, as_json=json)))


async def _tail(settings: Settings, run: str, *, as_json: bool) -> int:
    from kova_auto.app.connect import connected

    async with connected(settings, environment(), kind="runs") as connection:
        through = through_of(connection, (await connection.control.find(run)).run_id, as_json=as_json)
        through.presses.heed()
        if not await through.to_end():
            return INTERRUPTED
        if through.account.state.finished is None:
            through.account.screen.line("no service is running: it goes on with kova-auto serve")
        return code_of(through)


@app.command("loop", help=_LOOP)
def loop(
    run: RunArgument,
    *,
    attempt: Annotated[int | None, typer.Option(min=1, help="Only this attempt.", show_default=False)] = None,
    iteration: Annotated[int | None, typer.Option(min=1, help="Only this iteration.", show_default=False)] = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Show one run's loop."""
    settings = settings_of(config)
    kin = _kin(settings, run)
    view = narrowed(loop_view(kin.events, kin.others), attempt=attempt, iteration=iteration)
    if json:
        say_json(view.model_dump(mode="json"))
    else:
        say("\n".join(loop_lines(view, parse_zone(settings.timezone), ink())))


@app.command("replay", help=_REPLAY)
def replay(
    run: RunArgument,
    *,
    model: Annotated[
        str | None,
        typer.Option(metavar="PROVIDER/MODEL", help="Ask this model; scripted: the job's script.", show_default=False),
    ] = None,
    attempt: Annotated[int | None, typer.Option(min=1, help="Which attempt; the last.", show_default=False)] = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Compare one run with its replay."""
    from kova_auto.app.replaying import Tape, player_of, tape_of

    settings = settings_of(config)

    async def question(answers: Answers) -> Tape:
        return await tape_of(answers, run, attempt)

    tape = ask(settings, question, kind="runs")
    player = player_of(settings, environment())
    keep_secrets(player)
    beside = screen(apart=True)
    beside.status(f"asking {model} what it would do" if model else "")
    try:
        found = asyncio.run(player.replay(tape, model))
    finally:
        beside.status("")
    if json:
        say_json(found.model_dump(mode="json"))
    else:
        say("\n".join(replay_lines(found, ink())))
    if found.differs:
        raise typer.Exit(FAILED)


@app.command("diff", help=_DIFF)
def diff(run: RunArgument, *, config: ConfigOption = None) -> None:
    """Show one run's changes."""

    async def question(control: Control) -> str:
        return await control.diff((await control.find(run)).run_id)

    text = change(settings_of(config), question, kind="runs")
    if text:
        say(clean(text).rstrip("\n"))
    else:
        complain("the run changed no file", "note")


@app.command("undo", help=_UNDO)
def undo(run: RunArgument, *, config: ConfigOption = None) -> None:
    """Take one run's changes back."""

    async def question(control: Control) -> Undone:
        return await control.undo((await control.find(run)).run_id)

    undone = change(settings_of(config), question, kind="runs")
    for path in undone.restored:
        say(f"restored {clean(path)}")
    for file in undone.refused:
        complain(clean(file), "refused")
    if undone.refused:
        left = "these files were left as they are" if undone.restored else "nothing was touched"
        complain(f"{left}; kova-auto runs diff shows what the run wrote")
        raise typer.Exit(FAILED)
    if not undone.restored:
        say("There is nothing to restore: the run changed no file.")


app.command("continue", help=CONTINUE)(continue_run)
app.command("export", help=EXPORT)(export)
app.command("apply", help=APPLY)(apply)
app.command("discard", help=DISCARD)(discard)


@app.command("cancel", help="Ask a run to end, and see it end. Exits with 0 once it has.")
def cancel(
    run: RunArgument,
    *,
    reason: Annotated[str, typer.Option(help="Why; it is kept with the run.", show_default=False)] = "",
    config: ConfigOption = None,
) -> None:
    """End one run."""

    async def deed(control: Control, run_id: RunId) -> None:
        try:
            await control.cancel(run_id, person(), reason or f"cancelled by {person()}")
        except IllegalEventError as exc:
            row = await control.find(run_id)
            if row.execution is Execution.FINISHED:
                msg = f"run {run_id} has finished already: {row.outcome}"
                raise IllegalEventError(msg) from exc

    code = act(settings_of(config), run, deed, kind="runs")
    raise typer.Exit(code if code == INTERRUPTED else 0)


@app.command("retry", help=_RETRY)
def retry(run: RunArgument, *, config: ConfigOption = None, json: JsonOption = False) -> None:
    """Begin one run's next attempt."""

    async def deed(control: Control, run_id: RunId) -> object:
        return await control.retry(run_id, person())

    raise typer.Exit(act(settings_of(config), run, deed, kind="runs", as_json=json))


def _kin(settings: Settings, run: str) -> Kin:
    from kova_auto.app.family import kin_of

    async def question(answers: Answers) -> Kin:
        return await kin_of(answers, (await answers.find(run)).run_id)

    return ask(settings, question, kind="runs")
