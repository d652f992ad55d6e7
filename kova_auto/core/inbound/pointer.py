"""Find one value in JSON by its pointer.

Source: RFC 6901.
"""

from __future__ import annotations

import re
from typing import Final

from pydantic import JsonValue

from kova_auto.core.errors import ConfigError

_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,8}")
_STRAY: Final = re.compile(r"~(?![01])")
LONGEST: Final = 500


def parse_pointer(text: str) -> tuple[str, ...]:
    """Return the steps of a pointer, as `/sender/login`.

    Raises:
        ConfigError: It is none.
    """
    if not text.startswith("/") or _STRAY.search(text) or len(text) > LONGEST:
        message = f"wanted a JSON pointer, found {text!r}"
        raise ConfigError(message, hint='it begins with a slash, as "/sender/login"; ~1 stands for / and ~0 for ~')
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in text[1:].split("/"))


def value_at(value: JsonValue, steps: tuple[str, ...]) -> JsonValue:
    """Return what the steps lead to; None where that is nothing, or null."""
    for step in steps:
        match value:
            case dict():
                value = value.get(step)
            case list() if _INDEX.fullmatch(step) and int(step) < len(value):
                value = value[int(step)]
            case _:
                return None
    return value


def text_at(value: JsonValue, *steps: str) -> str:
    """Return the text or whole number that the steps lead to, as text; empty where there is none."""
    found = value_at(value, steps)
    if isinstance(found, bool):
        return ""
    return str(found) if isinstance(found, str | int) else ""
