"""`kova-auto approvals`: the calls that wait for a person, and answering them."""

from __future__ import annotations

import json as json_text
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from kova_auto.cli.acting import act
from kova_auto.cli.asking import ask, person
from kova_auto.cli.frame import new_app
from kova_auto.cli.ink import ink
from kova_auto.cli.listing import listing
from kova_auto.cli.options import ConfigOption, JsonOption, settings_of
from kova_auto.cli.output import say, say_json
from kova_auto.cli.run_rows import when
from kova_auto.core.approval.levels import Decision
from kova_auto.core.delivery.text import clean, one_line
from kova_auto.core.ids import CallId, RunId
from kova_auto.core.run import CallState, RunState, fold
from kova_auto.core.schedule.zone import parse_zone
from kova_auto.core.view import ApprovalRow, approval_rows

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from kova_auto.app.control import Answers, Control

app = new_app("List and answer the calls that wait for a person.")

HEAD = ("RUN", "CALL", "TOOL", "UNTIL", "ANSWER", "WHY")
_NAME = 60
_LIST = f"""\
List calls that wait for a person, newest first.

With --json: a list of objects with {", ".join(ApprovalRow.model_fields)}. Instants are UTC.
"""
_SHOW = """\
Show a call that waits, or waited, for a person.

Its arguments in full, and why it is not simply allowed.

With --json: approval (as in approvals list), arguments, rule.
"""
_THEN = """
With a live service the run goes on there; else this command sees it through, as run does, with the same exit codes.
"""

RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="Id of a run, or last.", show_default=False)]
CallArgument = Annotated[str, typer.Argument(metavar="CALL", help="Id of the call, as 2.1.", show_default=False)]
NoteOption = Annotated[str, typer.Option("--note", help="For the record, and for the model.", show_default=False)]


@app.command("list", help=_LIST)
def list_approvals(
    *,
    everything: Annotated[bool, typer.Option("--all", help="Those that were answered, too.")] = False,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Show approvals in a table."""
    settings = settings_of(config)

    async def question(answers: Answers) -> tuple[ApprovalRow, ...]:
        return await answers.approvals(open_only=not everything)

    rows = ask(settings, question, kind="approvals")
    if json:
        say_json([row.model_dump(mode="json") for row in rows])
    elif rows:
        zone = parse_zone(settings.timezone)
        say(listing(HEAD, [_cells(row, zone) for row in rows], ink()))
    else:
        say("Nothing waits for a person.")


def _cells(row: ApprovalRow, zone: ZoneInfo) -> tuple[str, ...]:
    answer = f"{row.decision} by {row.decided_by}" if row.decision else "" if row.open else "too late"
    tool = one_line(row.tool, _NAME)
    return row.run_id, row.call_id, tool, when(row.expires_at, zone), one_line(answer, _NAME), row.reason


@app.command("show", help=_SHOW)
def show(run: RunArgument, call: CallArgument, *, config: ConfigOption = None, json: JsonOption = False) -> None:
    """Show one approval."""
    settings = settings_of(config)

    async def question(answers: Answers) -> RunState:
        found = await answers.find(run)
        return fold([placed.event for placed in await answers.events(found.run_id, 0, 0)])

    state = ask(settings, question, kind="approvals")
    known = state.call(CallId(call))
    if json:
        rows = [row.model_dump(mode="json") for row in approval_rows(state) if row.call_id == call]
        rule = known.verdict.rule if known.verdict else None
        say_json({"approval": rows[0] if rows else None, "arguments": known.call.args, "rule": rule})
    else:
        say("\n".join(_lines(state, known, parse_zone(settings.timezone))))


def _lines(state: RunState, known: CallState, zone: ZoneInfo) -> Iterator[str]:
    yield f"call {known.call.id} of run {state.run_id}"
    yield f"tool: {one_line(known.call.tool, _NAME)}"
    arguments = known.call.unparsed or json_text.dumps(known.call.args, indent=2, ensure_ascii=False)
    yield f"arguments: {clean(arguments)}"
    if known.verdict:
        yield f"why: {clean(known.verdict.reason)} ({known.verdict.rule})"
    if known.decision:
        note = f": {clean(known.decision.note)}" if known.decision.note else ""
        yield f"answered: {known.decision.decision} by {clean(known.decision.by)}{note}"
    elif known.awaits_person and known.approval:
        yield f"waits until: {when(known.approval.expires_at, zone)}"
    else:
        yield "waits for nobody"


@app.command("allow", help=f"Allow a call that waits, this once.\n{_THEN}")
def allow(run: RunArgument, call: CallArgument, *, note: NoteOption = "", config: ConfigOption = None) -> None:
    """Let one call happen."""
    _decide(run, call, Decision.ONCE, note, config)


@app.command("deny", help=f"Refuse a call that waits; the model is told, with the note.\n{_THEN}")
def deny(run: RunArgument, call: CallArgument, *, note: NoteOption = "", config: ConfigOption = None) -> None:
    """Refuse one call."""
    _decide(run, call, Decision.DENY, note, config)


def _decide(run: str, call: str, decision: Decision, note: str, config: ConfigOption) -> None:
    async def deed(control: Control, run_id: RunId) -> object:
        return await control.decide(run_id, CallId(call), decision, person(), note)

    raise typer.Exit(act(settings_of(config), run, deed, kind="approvals", is_followed=False))
