"""Turn what pydantic complains of into sentences for the person who wrote the file.

Each says what was wanted and what was found, at the line where it stands. Alternatives of one key (text or a list)
become one sentence. A value that stands where a secret should be named is never shown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from kova_auto.core.redact import redact_shapes
from kova_auto.core.secret import SecretRef
from kova_auto.core.toml.models import belongs_in, names_in
from kova_auto.core.toml.places import Key

T = TypeVar("T")
ErrorAt = Callable[[Key, str, str], T]

REFERENCE_FORMS = 'write { env = "NAME" }, { file = "path" }, { credential = "name" } or { keyring = "name" }'
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'")
_SHOWN_CHARS = 60
_LABEL_OF_A_NAME = "[key]"  # in pydantic's place of an error: not the value is wrong, but the name it has

_WANTED: Mapping[str, str] = MappingProxyType(
    {
        "string_type": "text",
        "string_pattern_mismatch": "a name of letters, digits, - and _, at most 64 of them",
        "string_too_short": "text of at least {min_length} characters",
        "string_too_long": "text of at most {max_length} characters",
        "int_type": "a whole number",
        "int_from_float": "a whole number",
        "int_parsing": "a whole number",
        "float_type": "a number",
        "float_parsing": "a number",
        "finite_number": "a finite number",
        "bool_type": "true or false",
        "bool_parsing": "true or false",
        "tuple_type": "a list",
        "list_type": "a list",
        "dict_type": "a table",
        "model_type": "a table",
        "time_delta_type": 'a duration as "90s", "20m", "12h" or "7d"',
        "path_type": "a path",
        "greater_than": "more than {gt}",
        "greater_than_equal": "at least {ge}",
        "less_than": "less than {lt}",
        "less_than_equal": "at most {le}",
    }
)


def complaints(
    exc: ValidationError, model: type[BaseModel], data: Mapping[str, object], error_at: ErrorAt[T]
) -> dict[Key, T]:
    """Return what `error_at` makes of each key that is wrong, in pydantic's order.

    Args:
        exc: What pydantic raised.
        model: The model that refused the data.
        data: As it was read; its keys tell real places from the labels that pydantic gives to alternatives.
        error_at: Is given key, sentence and hint.
    """
    found: dict[Key, list[ErrorDetails]] = {}
    for details in exc.errors(include_url=False):
        found.setdefault(_place(details, data), []).append(details)
    return {
        key: error_at(key, *_sentence(key, every, model, data))
        for key, every in found.items()
        if not any(other[: len(key)] == key for other in found if len(other) > len(key))
    }


def shown(value: object) -> str:
    """Write a value as it stands in a TOML file, shortened."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            text = redact_shapes(value)
            return json.dumps(text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "…", ensure_ascii=False)
        case datetime() | date() | time():
            return value.isoformat()
        case Mapping():
            return "a table"
        case list() | tuple():
            return "a list"
        case _:
            return str(value)


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """Return a hint that names the nearest known name, or all of a few; empty where nothing is near."""
    near = get_close_matches(name, known, n=1)
    if near:
        return f"did you mean {near[0]}?"
    return f"known here: {', '.join(known)}" if 0 < len(known) <= 12 else ""


def _place(details: ErrorDetails, data: Mapping[str, object]) -> Key:
    node: object = data
    key: Key = ()
    for part in details["loc"]:
        match node:
            case Mapping() if part in node:
                key, node = (*key, part), node[part]
            case list() if isinstance(part, int) and part < len(node):
                key, node = (*key, part), node[part]
            case _:
                continue
    if details["type"] == "missing":
        return (*key, details["loc"][-1])
    return key


def _value_at(data: Mapping[str, object], key: Key) -> object:
    """Return what stands in the file, before anything was made of it."""
    node: Any = data
    for part in key:
        node = node[part]
    return node


def _sentence(
    key: Key, every: Sequence[ErrorDetails], model: type[BaseModel], data: Mapping[str, object]
) -> tuple[str, str]:
    """Return message and hint for all that pydantic says of one key."""
    first = every[0]
    if any(_names_a_secret(details) for details in every):
        others = [f"{_wanted(details)} or " for details in every if not _names_a_secret(details)]
        return f"wanted {''.join(others)}a secret by reference, found a value written out", REFERENCE_FORMS
    match first["type"]:
        case "extra_forbidden":
            name = str(key[-1])
            known = names_in(model, key[:-1])
            return "unknown key", belongs_in(model, key, data) or did_you_mean(name, known)
        case "missing":
            return "wanted a value, found none", ""
        case _:
            pass
    wanted = list(dict.fromkeys(map(_wanted, every)))
    if all(details["type"] == "value_error" for details in every):
        return " or ".join(wanted), ""
    choices = [choice for details in every for choice in _choices(details)]
    found = key[-1] if first["loc"][-1] == _LABEL_OF_A_NAME else _value_at(data, key)
    near = get_close_matches(found, choices, n=1) if isinstance(found, str) else []
    return f"wanted {' or '.join(wanted)}, found {shown(found)}", f"did you mean {near[0]}?" if near else ""


def _names_a_secret(details: ErrorDetails) -> bool:
    return details["type"] == "model_type" and details.get("ctx", {}).get("class_name") == SecretRef.__name__


def _wanted(details: ErrorDetails) -> str:
    context = details.get("ctx", {})
    if details["type"] == "value_error":
        return str(context["error"])
    if choices := _choices(details):
        names = [f'"{choice}"' for choice in choices]
        return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
    phrase = _WANTED.get(details["type"])
    if phrase is None:
        return _plain(details["msg"])
    return phrase.format_map(context)


def _choices(details: ErrorDetails) -> list[str]:
    if details["type"] not in {"enum", "literal_error"}:
        return []
    return _QUOTED.findall(details["ctx"]["expected"])


def _plain(message: str) -> str:
    return message.removeprefix("Input should be ").removeprefix("Value error, ")
