"""Decide whether what a model wrote is a tool call's arguments: one JSON object, or nothing that may be executed.

Nothing is repaired and nothing is guessed: what is not read in exactly one way is given back to the model as it is.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any, Final

from pydantic import JsonValue

from kova_auto.core.message import CallRequest
from kova_auto.llm.unicode import is_sound

MAX_DEPTH: Final = 64
MAX_INT: Final = 2**63


def parse_arguments(text: str) -> dict[str, JsonValue] | None:
    """Return the arguments, no text at all being none; None where the text is no sound JSON object.

    Refused besides bad syntax: a name given twice, a number that is not finite or that 64 bits cannot hold, half a
    character, and nesting without end. All of them would be stored as something else than was said.
    """
    if not text.strip():
        return {}
    try:
        value = json.loads(text, object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and is_storable(value) else None


def requested(tool: str, text: str, provider_id: str, *, whole: bool) -> CallRequest:
    """Return the call a model asked for.

    Args:
        tool: Its name, as the model wrote it.
        text: Its arguments, as the model wrote them.
        provider_id: The provider's id of it; may be empty.
        whole: The reply came to its end. A call of one that was cut is kept as text, whatever the text looks like.
    """
    args = parse_arguments(text) if whole else None
    if args is None:
        return CallRequest(tool=tool, unparsed=text, provider_id=provider_id)
    return CallRequest(tool=tool, args=args, provider_id=provider_id)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        msg = "a name is given twice"
        raise ValueError(msg)
    return found


def _are_storable(values: Iterable[JsonValue], depth: int) -> bool:
    """Say the same of several values beneath another; most are plain text, and need no call each."""
    for value in values:
        is_plain = isinstance(value, str) and value.isascii()
        if not is_plain and not is_storable(value, depth - 1):
            return False
    return True


def is_storable(value: JsonValue, depth: int = MAX_DEPTH) -> bool:
    """Say whether a JSON value comes back from the journal as it is."""
    match value:
        case str():
            return is_sound(value)
        case float():
            return math.isfinite(value)
        case int():
            return -MAX_INT <= value < MAX_INT
        case dict():
            return depth > 0 and _are_storable(value, depth) and _are_storable(value.values(), depth)
        case list():
            return depth > 0 and _are_storable(value, depth)
        case _:
            return True
