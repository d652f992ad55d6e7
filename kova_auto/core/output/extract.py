"""Read the JSON out of an answer: the whole of it, or the one fenced block that is the whole of it. Nothing is guessed.

Taken is what every reader takes alike: no names twice, no NaN, no half characters.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

MAX_BYTES: Final = 1 << 20
MAX_DEPTH: Final = 64

_FENCED = re.compile(r"(?P<fence>`{3,}|~{3,})[^\n`]*\n(?P<inside>.*?)\n?[ \t]*(?P=fence)[`~]*", re.DOTALL)
_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class Extracted:
    """Hold the JSON of an answer, as it was written and as it is read."""

    text: str
    value: JsonValue


class NoJsonError(ValueError):
    """Say why an answer is no JSON, a clause for the model."""


def extract(answer: str) -> Extracted:
    """Return the JSON that an answer is.

    Raises:
        NoJsonError: It is none, holds something besides, or cannot be read in a bounded way.
    """
    text = _unfenced(answer.strip().removeprefix(_MARK).strip())
    if not text:
        message = "wanted JSON, found nothing"
        raise NoJsonError(message)
    if len(text.encode(errors="replace")) > MAX_BYTES:
        message = f"wanted at most {MAX_BYTES} bytes of JSON, found {len(text.encode(errors='replace'))}"
        raise NoJsonError(message)
    return Extracted(text, read_json(text))


def _unfenced(text: str) -> str:
    found = _FENCED.fullmatch(text)
    return found["inside"].strip() if found else text


def read_json(text: str) -> JsonValue:
    """Return what a text says as JSON.

    Raises:
        NoJsonError: It is none, or none that every reader takes alike.
    """
    try:
        value: JsonValue = json.loads(
            text, parse_constant=_no_constant, parse_float=_finite, parse_int=_short, object_pairs_hook=_each_once
        )
    except json.JSONDecodeError as exc:
        raise NoJsonError(_where(exc)) from exc
    except RecursionError as exc:
        raise NoJsonError(_TOO_DEEP) from exc
    except ValueError as exc:
        raise NoJsonError(str(exc)) from exc
    _check_depth(value)
    _check_characters(value)
    return value


_MAX_DIGITS = 400
_TOO_LARGE = "wanted JSON numbers that a reader can hold, found {}"
_TOO_DEEP = f"wanted JSON of at most {MAX_DEPTH} levels, found more"


def _where(exc: json.JSONDecodeError) -> str:
    if exc.msg == "Extra data":
        return f"wanted JSON and nothing else, found more text at line {exc.lineno}, column {exc.colno}"
    if not exc.doc[: exc.pos].strip():
        return "wanted JSON and nothing else, found other text at its beginning"
    return f"wanted JSON, found a mistake at line {exc.lineno}, column {exc.colno}: {exc.msg}"


def _no_constant(name: str) -> JsonValue:
    message = f"wanted JSON, found {name}, which is no JSON number"
    raise ValueError(message)


def _finite(digits: str) -> float:
    if math.isinf(number := float(digits)):
        raise ValueError(_TOO_LARGE.format(digits[:40]))
    return number


def _short(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise ValueError(_TOO_LARGE.format(f"{digits[:40]}… of {len(digits)} digits"))
    return int(digits)


def _each_once(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        message = f"wanted each name once in an object, found {json.dumps(twice)[:80]} twice"
        raise ValueError(message)
    return found


def _check_depth(value: JsonValue) -> None:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [inner for each in level for inner in _inside(each)]
        if not level:
            return
    raise NoJsonError(_TOO_DEEP)


def _inside(value: JsonValue) -> list[JsonValue]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _check_characters(value: JsonValue) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as exc:
        message = "wanted whole characters, found half of a surrogate pair (as \\ud83d without its other half)"
        raise NoJsonError(message) from exc
