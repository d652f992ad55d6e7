"""Read the JSON of a file that a person keeps: one object, or a clear word on where it is none."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NoReturn

from pydantic import JsonValue

from kova_auto.core.errors import ConfigError

Pairs = Callable[[list[tuple[str, Any]]], dict[str, Any]]


def read_object(text: str, path: str, *, wanted: str, hint: str, pairs: Pairs | None = None) -> dict[str, JsonValue]:
    """Return the object that a text holds.

    Args:
        text: Of the file.
        path: Where that is, for the error.
        wanted: What it is to hold, in words.
        hint: What follows where it holds something else.
        pairs: Makes an object of its keys and values; None lets the last of two equal keys count.

    Raises:
        ConfigError: It holds something else; names the line.
    """
    try:
        value = json.loads(text, object_pairs_hook=pairs, parse_constant=_no_number)
    except json.JSONDecodeError as exc:
        message = f"wanted JSON: {exc.msg[:1].lower()}{exc.msg[1:]} (column {exc.colno})"
        raise ConfigError(message, path=path, line=exc.lineno, hint=hint) from exc
    except (RecursionError, ValueError) as exc:
        message = "wanted JSON that is not nested so deep and holds only plain numbers"
        raise ConfigError(message, path=path, hint=hint) from exc
    if not isinstance(value, dict):
        raise ConfigError(wanted, path=path, hint=hint)
    return value


def _no_number(name: str) -> NoReturn:
    raise ValueError(name)
