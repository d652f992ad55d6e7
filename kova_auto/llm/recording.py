"""Write a script that plays a run's replies again: the same text, the same calls."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
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


def record(events: Sequence[Event], children: Sequence[Sequence[Event]] = ()) -> str:
    """Return a script of the replies of a run's last attempt.

    Args:
        events: The run's facts, oldest first, as they were journaled: secrets are taken out already.
        children: Those of each of its subagents, and of theirs; one that was given no reply is left out.
    """
    replies = _replies(events)
    described = next((f"Recorded from run {one.run_id}, {one.model}" for one in _opening(events)), "Recorded")
    said: dict[str, Any] = {"description": described, "turns": [_turn(reply) for reply in replies]}
    if parts := [part for child in children for part in _part(child)]:
        said["subagents"] = parts
    # A string over several lines loses its carriage returns. Texts name theirs; the name of a tool is no template.
    everything = [*replies, *(reply for child in children for reply in _replies(child))]
    is_plain = any("\n" in call.tool for reply in everything for call in reply.calls)
    return tomli_w.dumps(said, multiline_strings=not is_plain)


def _opening(events: Sequence[Event]) -> Iterator[RunRequested]:
    return (event for event in events if isinstance(event, RunRequested))


def _replies(events: Sequence[Event]) -> list[ModelReplied]:
    """Return the replies of the last attempt."""
    begins = [number for number, event in enumerate(events) if isinstance(event, RunRetried)]
    last = events[begins[-1] :] if begins else events
    return [event for event in last if isinstance(event, ModelReplied)]


def _part(events: Sequence[Event]) -> Iterator[dict[str, Any]]:
    """Yield what is played for a subagent: it is known again by its task."""
    replies = _replies(events)
    for opening in _opening(events):
        if opening.child_of and replies:
            task = {"expect": [opening.job.prompt]} if opening.job.prompt else {}
            yield {"agent": opening.child_of.agent, **task, "turns": [_turn(reply) for reply in replies]}


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
