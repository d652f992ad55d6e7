"""Mark up to where a request is worth keeping, for models behind a gateway that want to be told; pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pydantic import JsonValue

Body = dict[str, JsonValue]

ROLLING: Final = 3
"""Marks besides the one on the system prompt; more than four in all are refused."""

_MARK: Final[Body] = {"cache_control": {"type": "ephemeral"}}


def marked(messages: Sequence[Body]) -> list[Body]:
    """Return the messages with marks on the system prompt and on the ends of what was told last.

    What is told is a list of parts in each of them, marked or not: so a request begins with the bytes of the one before
    it, but for the marks.
    """
    found = [_in_parts(message) for message in messages]
    told = [at for at, message in enumerate(found) if message["role"] in ("user", "tool") and _ends(found, at)]
    for at in [*(at for at, message in enumerate(found) if message["role"] == "system"), *told[-ROLLING:]]:
        content = found[at]["content"]
        if isinstance(content, list) and content and isinstance(content[-1], dict):
            found[at] = {**found[at], "content": [*content[:-1], content[-1] | _MARK]}
    return found


def _ends(messages: Sequence[Body], at: int) -> bool:
    """Say whether a message is the last one before a reply: there a request ended."""
    return at + 1 == len(messages) or messages[at + 1]["role"] == "assistant"


def _in_parts(message: Body) -> Body:
    content = message.get("content")
    if message["role"] == "assistant" or not isinstance(content, str) or not content.strip():
        return message
    return {**message, "content": [{"type": "text", "text": content}]}
