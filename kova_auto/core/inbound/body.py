"""Read the body of a request that is believed: JSON, or a form, within bounds that keep reading it harmless."""

from __future__ import annotations

import json
from typing import Final, Never
from urllib.parse import parse_qsl

from pydantic import JsonValue

from kova_auto.core.errors import KovaError

DEEPEST: Final = 64
MOST_FIELDS: Final = 200

JSON: Final = "application/json"
FORM: Final = "application/x-www-form-urlencoded"


class BodyError(KovaError):
    """Say that a body cannot be read; the message says why."""


def media_type(header: bytes) -> str:
    """Return what a Content-Type names, in lower case and without parameters; `…+json` is JSON."""
    name = header.partition(b";")[0].strip().lower().decode("latin-1")
    return JSON if name.startswith("application/") and name.endswith("+json") else name


def read_body(body: bytes, kind: str, form: str | None) -> JsonValue:
    """Return what a body holds.

    Args:
        body: As it came.
        kind: Its media type.
        form: As `Scheme.form` has it.

    Raises:
        BodyError: It is not what it should be, or too deep, or a name stands twice in an object.
    """
    if kind != FORM or form is None:
        return read_json(body)
    fields = _fields(body)
    held = fields.get(form or "payload")
    return read_json(held.encode("utf-8", "surrogatepass")) if held is not None else dict(fields)


def read_json(text: bytes) -> JsonValue:
    """Return the value that a text in UTF-8 holds.

    Raises:
        BodyError: As for `read_body`.
    """
    try:
        found: JsonValue = json.loads(text.decode("utf-8"), object_pairs_hook=_object, parse_constant=_no_number)
    except UnicodeDecodeError as exc:
        msg = "wanted UTF-8"
        raise BodyError(msg) from exc
    except RecursionError as exc:
        raise _too_deep() from exc
    except ValueError as exc:  # With the position; a number of too many digits is one too.
        msg = f"wanted JSON: {exc}"
        raise BodyError(msg) from exc
    _heed_depth(found)
    return found


def _fields(body: bytes) -> dict[str, str]:
    try:
        pairs = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=True,
            errors="strict",
            max_num_fields=MOST_FIELDS,
        )
    except ValueError as exc:
        msg = "wanted a form of at most 200 fields"
        raise BodyError(msg) from exc
    fields = dict(pairs)
    if len(fields) < len(pairs):
        msg = "a field stands twice"
        raise BodyError(msg)
    return fields


def _object(pairs: list[tuple[str, JsonValue]]) -> JsonValue:
    found = dict(pairs)
    if len(found) < len(pairs):
        msg = "a name stands twice in an object"
        raise BodyError(msg)
    return found


def _no_number(text: str) -> Never:
    msg = f"wanted JSON, found {text}"
    raise BodyError(msg)


def _heed_depth(value: JsonValue) -> None:
    """Refuse what is nested too deep, level by level: a walk that calls itself would be what it guards against."""
    level: list[JsonValue] = [value]
    for _ in range(DEEPEST + 1):
        deeper: list[JsonValue] = []
        for one in level:
            if isinstance(one, dict):
                deeper += one.values()
            elif isinstance(one, list):
                deeper += one
        if not deeper:
            return
        level = deeper
    raise _too_deep()


def _too_deep() -> BodyError:
    return BodyError(f"it is nested deeper than {DEEPEST} levels")
