"""Write a script that plays a run's replies again: the same text, the same calls."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import tomli_w
from pydantic import JsonValue

from kova_auto.core.event import Event, ModelReplied, RunRequested, RunRetried
from kova_auto.core.message import ToolCall
from kova_auto.core.stop_reason import StopReason

# What begins a tag, alone or together with what follows it. A carriage return is written out because both TOML and
# Jinja2 read every line end as one line feed.
_SPECIAL: Final = re.compile(r"(?:\{(?=[{%#\r])|\r)[{\r]*[%#]?")
_NULL: Final = "{{ none }}"  # TOML has no null


def record(events: Sequence[Event]) -> str:
    """Return a script of the replies of a run's last attempt.

    Args:
        events: The run's facts, oldest first, as they were journaled: secrets are taken out already.
    """
    replies: list[ModelReplied] = []
    described = "Recorded"
    for event in events:
        match event:
            case RunRequested():
                described = f"Recorded from run {event.run_id}, {event.model}"
            case RunRetried():
                replies = []
            case ModelReplied():
                replies.append(event)
            case _:
                pass
    # A string over several lines loses its carriage returns. Texts name theirs; the name of a tool is no template.
    is_plain = any("\n" in call.tool for reply in replies for call in reply.calls)
    said = {"description": described, "turns": [_turn(reply) for reply in replies]}
    return tomli_w.dumps(said, multiline_strings=not is_plain)


def _turn(event: ModelReplied) -> dict[str, Any]:
    reply = event.reply
    turn: dict[str, Any] = {"text": literal(reply.text)}
    usual = StopReason.TOOL_CALLS if event.calls else StopReason.END
    if reply.stop is not usual:
        turn["stop"] = reply.stop.value
    if event.calls:
        turn["calls"] = [_call(call) for call in event.calls]
    return turn


def _call(call: ToolCall) -> dict[str, Any]:
    if call.unparsed is not None:
        return {"tool": call.tool, "unparsed": literal(call.unparsed)}
    return {"tool": call.tool, "args": {key: _value(item) for key, item in call.args.items()}}


def _value(value: JsonValue) -> JsonValue:
    match value:
        case None:
            return _NULL
        case str():
            return literal(value)
        case dict():
            return {key: _value(item) for key, item in value.items()}
        case list():
            return [_value(item) for item in value]
        case _:
            return value


def literal(text: str) -> str:
    """Return a template that gives exactly this text."""
    return _SPECIAL.sub(lambda match: f"{{{{ {match[0]!r} }}}}", text)
