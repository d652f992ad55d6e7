"""Say what the local model may do next, as a JSON schema that its engine enforces, and read what it chose.

A model this small names no tool and no file reliably. It chooses instead: among the files whose names are known from
the prompt or from earlier results, and at last only how to put its answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from kova_auto.core.message import CallRequest, Message, ResultStatus, TextPart, ToolMessage, UserMessage
from kova_auto.llm.arguments import parse_arguments

READ, GLOB = "read", "glob"
PATH, PATTERN, FINAL = "file_path", "pattern", "final"
EVERYTHING: Final = "*"
MOST_CALLS: Final = 3
"""Calls in one conversation; then it must answer."""
MOST_FILES: Final = 20

_URL: Final = re.compile(r"\w+://\S+")
# A mention, something in backticks, or a word with an ending, as notes/today.txt; not "e.g".
_NAMED: Final = re.compile(
    r"@(?P<mention>[\w./-]*\w)|`(?P<quoted>[^`\s]+)`"
    r"|(?<![\w./-])(?!e\.g|i\.e)(?P<word>(?:[\w.-]+/)*[\w-]+(?:\.\w+)*\.[A-Za-z]\w{0,7})"
)


@dataclass(frozen=True, slots=True)
class Choices:
    """Hold what the model may choose from, besides to answer."""

    files: tuple[str, ...] = ()
    may_list: bool = False

    @property
    def schema(self) -> dict[str, JsonValue]:
        """Return the JSON schema of one action."""
        actions: list[JsonValue] = []
        if self.files:
            actions.append(_object({"tool": {"const": READ}, PATH: {"enum": list(self.files)}}))
        if self.may_list:
            actions.append(_object({"tool": {"const": GLOB}, PATTERN: {"const": EVERYTHING}}))
        answer = _object({FINAL: {"type": "string"}})
        return {"anyOf": [*actions, answer]} if actions else answer


def _object(properties: dict[str, JsonValue]) -> dict[str, JsonValue]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def choices(messages: Sequence[Message], offered: frozenset[str]) -> Choices:
    """Return what may be done next in a conversation.

    Args:
        messages: So far.
        offered: Names of the tools that the run has.
    """
    results = [message for message in messages if isinstance(message, ToolMessage)]
    if len(results) >= MOST_CALLS:
        return Choices()
    tried = {str(result.call.args.get(PATH)) for result in results if result.call.tool == READ}
    files = tuple(name for name in dict.fromkeys(known_files(messages)) if name not in tried)[:MOST_FILES]
    has_listed = any(result.call.tool == GLOB for result in results)
    has_read = any(result.call.tool == READ and result.status is ResultStatus.OK for result in results)
    return Choices(
        files=files if READ in offered else (),
        may_list=GLOB in offered and not (files or has_listed or has_read),
    )


def known_files(messages: Sequence[Message]) -> Iterator[str]:
    """Yield the names of files that are named by a person or were listed, in their order."""
    for place, message in enumerate(messages):
        match message:
            case UserMessage():
                yield from _named_in(text_of(message) if place else task_of(message))
            case ToolMessage(status=ResultStatus.OK) if message.call.tool == GLOB:
                lines = text_of(message).splitlines()
                yield from (line for line in lines if line and not line.endswith("/") and not line.startswith("["))
            case _:
                pass


def task_of(message: UserMessage) -> str:
    """Return what the run was asked to do, alone: files that are shown with it fill the window, and it reads files."""
    return next((part.text for part in message.parts if isinstance(part, TextPart)), "")


def text_of(message: UserMessage | ToolMessage) -> str:
    """Return the text of a message, images left out: the model sees none."""
    return "\n".join(part.text for part in message.parts if isinstance(part, TextPart))


def _named_in(text: str) -> Iterator[str]:
    for found in _NAMED.finditer(_URL.sub(" ", text)):
        yield next(name for name in found.groups() if name)


def call_in(text: str) -> CallRequest | None:
    """Return the call that an action asks for; None where it asks for none."""
    action = parse_arguments(text) or {}
    tool = action.pop("tool", None)
    return CallRequest(tool=tool, args=action) if isinstance(tool, str) else None
