"""Say a conversation to the local model: the task and the results, in the form with which it does least badly.

It sees neither our own instructions nor the descriptions of tools: they are longer than its window, and it follows
neither. The task is told whole; results are cut to what room there is, and say so.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from pydantic import JsonValue

from kova_auto.core.message import AssistantMessage, Message, ResultStatus, ToolCall, ToolMessage, UserMessage
from kova_auto.llm.local.actions import EVERYTHING, FINAL, GLOB, PATH, PATTERN, READ, Choices, task_of, text_of
from kova_auto.llm.results import Result

_HOW: Final = (
    f'Choose the next action. Answer with one JSON object: {{"tool": "{READ}", "{PATH}": NAME}} to read a file, '
    f'{{"tool": "{GLOB}", "{PATTERN}": "{EVERYTHING}"}} to list the files, {{"{FINAL}": TEXT}} to answer.'
)
_ARGUMENTS: Final = 200

Turns = list[JsonValue]


def turns(messages: Sequence[Message], options: Choices, room: int) -> Turns:
    """Return a conversation as the model is told it, ending with what it answers.

    Args:
        messages: The conversation.
        options: What may be done next.
        room: Characters that all results may have together.
    """
    results = [_content(message) for message in messages if isinstance(message, ToolMessage)]
    shown = iter(cut(results, room))
    said: Turns = []
    for message in messages:
        match message:
            case UserMessage() if not said:
                said.append(_user(_task(task_of(message), options)))
            case UserMessage():
                said.append(_user(text_of(message)))
            case AssistantMessage() if not message.calls:
                said.append(_action({FINAL: message.text}))
            case AssistantMessage():
                pass  # Each of its calls stands before its result.
            case ToolMessage():
                said += [_action(_asked(message.call)), _user(f"{_head(message)}\n{next(shown)}")]
    return said


def size_of_results(messages: Sequence[Message]) -> int:
    """Return how many characters all results have."""
    return sum(len(_content(message)) for message in messages if isinstance(message, ToolMessage))


def _task(text: str, options: Choices) -> str:
    files = f"\n\nFiles: {', '.join(options.files)}" if options.files else ""
    return f"{_HOW}\n\nTask: {text}{files}"


def _user(text: str) -> JsonValue:
    return {"role": "user", "content": text}


def _action(action: dict[str, JsonValue]) -> JsonValue:
    return {"role": "assistant", "content": json.dumps(action, ensure_ascii=False)}


def _asked(call: ToolCall) -> dict[str, JsonValue]:
    args = {name: value[:_ARGUMENTS] for name, value in call.args.items() if isinstance(value, str)}
    return {"tool": call.tool, **args}


def _head(message: ToolMessage) -> str:
    if message.status is not ResultStatus.OK:
        return f"{message.call.tool}: {message.status.value}"
    if message.call.tool == READ:
        return f"Content of {message.call.args.get(PATH)}:"
    return "Files:" if message.call.tool == GLOB else f"{message.call.tool}:"


def _content(message: ToolMessage) -> str:
    """Return what a result says; of a file that was read its lines without their numbers."""
    found = Result(message.call.tool, message.call.args, message.status.value, text_of(message))
    return "\n".join(found.lines)


def cut(texts: Sequence[str], room: int) -> list[str]:
    """Return texts that have so many characters together, those that are too long cut alike, with a notice.

    The notices come on top.
    """
    share, left = 0, room
    for number, size in enumerate(sorted(map(len, texts))):
        share = left // (len(texts) - number)
        if size > share:
            break
        left -= size
        share = size
    return [text if len(text) <= share else _begin(text, max(share, 0)) for text in texts]


def _begin(text: str, size: int) -> str:
    return f"{text[:size]}\n[{len(text) - size} characters left out: they do not fit]"
