"""`kova-auto approvals`: the calls that wait for a person, and answering them."""

from __future__ import annotations

import json as json_text
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import JsonValue

from kova_auto.cli.acting import act
from kova_auto.cli.asking import ask, person
from kova_auto.cli.card import card, dispatched
from kova_auto.cli.frame import new_app
from kova_auto.cli.ink import ink
from kova_auto.cli.listing import listing
from kova_auto.cli.options import ConfigOption, JsonOption, settings_of
from kova_auto.cli.output import say, say_json
from kova_auto.cli.run_rows import when
from kova_auto.core.approval.levels import Decision
from kova_auto.core.delivery.text import one_line
from kova_auto.core.errors import ConfigError
from kova_auto.core.ids import CallId, RunId
from kova_auto.core.run import RunState, fold
from kova_auto.core.schedule.zone import parse_zone
from kova_auto.core.view import ApprovalRow

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from kova_auto.app.asked import Asked
    from kova_auto.app.control import Answers, Control

app = new_app("List and answer the calls that wait for a person.")

HEAD = ("RUN", "SUBAGENT", "CALL", "TOOL", "UNTIL", "ANSWER", "WHY")
_NAME = 60
_LIST = f"""\
List calls that wait for a person, newest first; those of subagents have the id of their own run.

With --json: a list of objects with {", ".join((*ApprovalRow.model_fields, "parent", "agent"))}. Instants are UTC.
"""
_SHOW = """\
Show a call that waits, or waited, for a person.

Its arguments in full, why it is not simply allowed, what it would write over, and what could be remembered of it.

With --json: approval (as in approvals list), arguments, rule, offer, no_offer, proposed, targets.
"""
_ALLOW = """\
Once, or with --remember for good: what is kept then stands in approvals show, and kova-auto rules list shows it later.
What is changed with --edit is judged anew. A write whose file has changed since the request is not made.
"""
_EXAMPLE = """--edit '{"command": "git push --dry-run"}'"""
_THEN = """
With a live service the run goes on there; else this command sees it through, as run does, with the same exit codes.
"""

RunArgument = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="Id of a run, the beginning of one, or last; RUN~CALL is a subagent of it.",
        show_default=False,
    ),
]
CallArgument = Annotated[str, typer.Argument(metavar="CALL", help="Id of the call, as 2.1.", show_default=False)]
ReasonOption = Annotated[str, typer.Option("--reason", help="For the record, and for the model.", show_default=False)]


@app.command("list", help=_LIST)
def list_approvals(
    *,
    everything: Annotated[bool, typer.Option("--all", help="Those that were answered, too.")] = False,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Show approvals in a table."""
    settings = settings_of(config)

    async def question(answers: Answers) -> tuple[Asked, ...]:
        return await answers.approvals(open_only=not everything)

    rows = ask(settings, question, kind="approvals")
    if json:
        say_json([row.model_dump(mode="json") for row in rows])
    elif rows:
        zone = parse_zone(settings.timezone)
        shown = [HEAD, *(_cells(row, zone) for row in rows)]
        say(listing(*with_agents(shown, rows), ink()))
    else:
        say("Nothing waits for a person.")


def with_agents(
    lines: Sequence[tuple[str, ...]], rows: Sequence[Asked]
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the head of a listing and its rows; the second column names subagents, and goes where there are none."""
    head, *rest = lines if any(row.agent for row in rows) else [(line[0], *line[2:]) for line in lines]
    return head, rest


def _cells(row: Asked, zone: ZoneInfo) -> tuple[str, ...]:
    answer = f"{row.decision} by {row.decided_by}" if row.decision else "" if row.open else "too late"
    tool = one_line(row.tool, _NAME)
    agent = one_line(row.agent, _NAME)
    return row.run_id, agent, row.call_id, tool, when(row.expires_at, zone), one_line(answer, _NAME), row.reason


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
        from kova_auto.app.asked import asked_in

        rows = [row.model_dump(mode="json") for row in asked_in(state) if row.call_id == call]
        asked, rule = known.approval, known.verdict.rule if known.verdict else None
        more = asked.model_dump(mode="json", include={"offer", "no_offer", "proposed", "targets"}) if asked else {}
        say_json({"approval": rows[0] if rows else None, "arguments": known.call.args, "rule": rule, **more})
    else:
        lines = card(known, parse_zone(settings.timezone), state.plan)
        say("\n".join((f"call {known.call.id} of run {state.run_id}", *dispatched(state), *lines)))


@app.command("allow", help=f"Allow a call that waits.\n\n{_ALLOW}{_THEN}")
def allow(
    run: RunArgument,
    call: CallArgument,
    *,
    remember: Annotated[
        bool, typer.Option("--remember", help="Keep what approvals show says would be remembered.")
    ] = False,
    edit: Annotated[
        str | None,
        typer.Option(metavar="JSON", help="Arguments to change, as a JSON object; null drops one.", show_default=False),
    ] = None,
    reason: ReasonOption = "",
    config: ConfigOption = None,
) -> None:
    """Let one call happen."""
    decision = Decision.REMEMBER if remember else Decision.ONCE
    _decide(run, call, decision, reason, config, changes=None if edit is None else _object(edit))


@app.command("deny", help=f"Refuse a call that waits; the model is told, with the reason.\n{_THEN}")
def deny(run: RunArgument, call: CallArgument, *, reason: ReasonOption = "", config: ConfigOption = None) -> None:
    """Refuse one call."""
    _decide(run, call, Decision.DENY, reason, config)


def _object(text: str) -> dict[str, JsonValue]:
    try:
        found = json_text.loads(text)
    except ValueError as exc:
        message = f"--edit: wanted a JSON object, found what is no JSON: {exc}"
        raise ConfigError(message, hint=_EXAMPLE) from exc
    if not isinstance(found, dict) or not found:
        message = f"--edit: wanted a JSON object with the arguments to change, found {one_line(text, _NAME)}"
        raise ConfigError(message, hint=_EXAMPLE)
    return found


def _decide(
    run: str,
    call: str,
    decision: Decision,
    reason: str,
    config: ConfigOption,
    *,
    changes: dict[str, JsonValue] | None = None,
) -> None:
    async def deed(control: Control, run_id: RunId) -> object:
        from kova_auto.app.control import Said

        args = None if changes is None else await _edited(control, run_id, CallId(call), changes)
        said = Said(decision=decision, by=person(), note=reason, args=args)
        return await control.decide(run_id, CallId(call), said)

    raise typer.Exit(act(settings_of(config), run, deed, kind="approvals", is_followed=False, is_whole=True))


async def _edited(
    control: Control, run_id: RunId, call_id: CallId, changes: dict[str, JsonValue]
) -> dict[str, JsonValue]:
    state = fold([placed.event for placed in await control.events(run_id, 0, 0)])
    args = {**state.call(call_id).call.args, **changes}
    return {name: value for name, value in args.items() if value is not None}
