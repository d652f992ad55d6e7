"""`kova-auto questions`: what a model asks a person, and answering it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kova_auto.cli.acting import act
from kova_auto.cli.approvals import CallArgument, ReasonOption, RunArgument, with_agents
from kova_auto.cli.asking import ask, person
from kova_auto.cli.card import card, dispatched, questions
from kova_auto.cli.chosen import chosen
from kova_auto.cli.frame import new_app
from kova_auto.cli.ink import ink
from kova_auto.cli.listing import listing
from kova_auto.cli.options import ConfigOption, JsonOption, settings_of
from kova_auto.cli.output import say, say_json
from kova_auto.cli.run_rows import when
from kova_auto.core.approval.levels import Decision
from kova_auto.core.delivery.text import one_line
from kova_auto.core.ids import CallId, RunId
from kova_auto.core.run import CallState, RunState, fold
from kova_auto.core.schedule.zone import parse_zone

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from pydantic import JsonValue

    from kova_auto.app.asked import Asked
    from kova_auto.app.control import Answers, Control

app = new_app("List and answer what a model asks.")

TOOL = "question"
_NAME, _ASKED = 60, 200
HEAD = ("RUN", "SUBAGENT", "CALL", "UNTIL", "ANSWER", "QUESTIONS")
_LIST = """\
List the questions that wait for a person, newest first.

A run waits for an answer only where its job says approval.questions = "suspend", or somebody attends it.

With --json: a list of objects with approval (as in approvals list), questions (as the model wrote them).
"""
_SHOW = """\
Show what is asked, with the options, and the answers where there are some.

With --json: approval (as in approvals list), questions, answers.
"""
_ANSWER = """\
Answer the questions of one call, each in its order.

An option may be given by its number, several of them with commas between; any other text is taken as it is.

With a live service the run goes on there; else this command sees it through, as run does, with the same exit codes.
"""


@app.command("list", help=_LIST)
def list_questions(
    *,
    everything: Annotated[bool, typer.Option("--all", help="Those that were answered, too.")] = False,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Show questions in a table."""
    settings = settings_of(config)

    async def question(answers: Answers) -> list[tuple[Asked, CallState]]:
        rows = [row for row in await answers.approvals(open_only=not everything) if row.tool == TOOL]
        states = {run: await _state(answers, run) for run in dict.fromkeys(row.run_id for row in rows)}
        return [(row, states[row.run_id].call(row.call_id)) for row in rows]

    found = ask(settings, question, kind="questions")
    if json:
        say_json([_fields(row, known) for row, known in found])
    elif found:
        zone = parse_zone(settings.timezone)
        shown = [HEAD, *(_cells(row, known, zone) for row, known in found)]
        say(listing(*with_agents(shown, [row for row, _ in found]), ink()))
    else:
        say("Nobody is asked anything.")


def _fields(row: Asked, known: CallState) -> dict[str, JsonValue]:
    return {"approval": row.model_dump(mode="json"), "questions": known.call.args.get("questions")}


def _cells(row: Asked, known: CallState, zone: ZoneInfo) -> tuple[str, ...]:
    answered = f"by {row.decided_by}" if row.decided_by else "" if row.open else "too late"
    asked = "; ".join(line for line in questions(known) if line.startswith("question"))
    until = when(row.expires_at, zone)
    return (
        row.run_id,
        one_line(row.agent, _NAME),
        row.call_id,
        until,
        one_line(answered, _NAME),
        one_line(asked, _ASKED),
    )


@app.command("show", help=_SHOW)
def show(run: RunArgument, call: CallArgument, *, config: ConfigOption = None, json: JsonOption = False) -> None:
    """Show the questions of one call."""
    settings = settings_of(config)

    async def question(answers: Answers) -> RunState:
        found = await answers.find(run)
        return await _state(answers, found.run_id)

    state = ask(settings, question, kind="questions")
    known = state.call(CallId(call))
    if json:
        from kova_auto.app.asked import asked_in

        rows = [row.model_dump(mode="json") for row in asked_in(state) if row.call_id == call]
        said = known.decision.answers if known.decision else ()
        questions_asked = known.call.args.get("questions")
        say_json({"approval": rows[0] if rows else None, "questions": questions_asked, "answers": list(said)})
    else:
        lines = card(known, parse_zone(settings.timezone))
        say("\n".join((f"call {known.call.id} of run {state.run_id}", *dispatched(state), *lines)))


@app.command("answer", help=_ANSWER)
def answer(
    run: RunArgument,
    call: CallArgument,
    answers: Annotated[
        list[str] | None, typer.Argument(metavar="ANSWER...", help="One for each question.", show_default=False)
    ] = None,
    *,
    skip: Annotated[bool, typer.Option("--skip", help="Give no answer: the model is to assume.")] = False,
    reason: ReasonOption = "",
    config: ConfigOption = None,
) -> None:
    """Answer the questions of one call."""

    async def deed(control: Control, run_id: RunId) -> object:
        from kova_auto.app.control import Said

        if skip:
            said = Said(decision=Decision.DENY, by=person(), note=reason)
        else:
            known = (await _state(control, run_id)).call(CallId(call))
            said = Said(decision=Decision.ONCE, by=person(), note=reason, answers=chosen(known, answers or ()))
        return await control.decide(run_id, CallId(call), said)

    raise typer.Exit(act(settings_of(config), run, deed, kind="questions", is_followed=False, is_whole=True))


async def _state(answers: Answers, run_id: RunId) -> RunState:
    return fold([placed.event for placed in await answers.events(run_id, 0, 0)])
