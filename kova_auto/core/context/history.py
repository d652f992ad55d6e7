"""Carry what was said in one run over into the next of its session."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from kova_auto.core.ids import CallId, RunId
from kova_auto.core.message import AssistantMessage, Message, Part, TextPart, ToolCall, ToolMessage


def carried_over(messages: Iterable[Message], run: RunId) -> tuple[Message, ...]:
    """Return the messages of a run with calls that are nobody else's: each run counts its own from the beginning.

    Args:
        messages: As its model was last shown them, with its answer; those of runs before it are carried over already.
        run: Whose they are.
    """
    return tuple(_carried(message, run) for message in messages)


def without_secrets(message: Message, redact: Callable[[str], str]) -> Message:
    """Return a message without the secrets that are known by now; a provider's own form that holds one is left out."""
    if not isinstance(message, AssistantMessage):
        return message.model_copy(update={"parts": tuple(_clean(part, redact) for part in message.parts)})
    raw = json.dumps(message.raw, ensure_ascii=False) if message.raw is not None else ""
    return message.model_copy(update={"text": redact(message.text), "raw": message.raw if redact(raw) == raw else None})


def _carried(message: Message, run: RunId) -> Message:
    match message:
        case AssistantMessage():
            return message.model_copy(update={"calls": tuple(_renamed(call, run) for call in message.calls)})
        case ToolMessage():
            return message.model_copy(update={"call": _renamed(message.call, run)})
        case _:
            return message


def _renamed(call: ToolCall, run: RunId) -> ToolCall:
    return call if "/" in call.id else call.model_copy(update={"id": CallId(f"{run}/{call.id}")})


def _clean(part: Part, redact: Callable[[str], str]) -> Part:
    return TextPart(text=redact(part.text)) if isinstance(part, TextPart) else part
