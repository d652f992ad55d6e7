"""Durations and calendar instants as people write them: `90s`, `20m`, `12h`, `1h30m`."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

_UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_SHAPE = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?", re.ASCII)


def parse_duration(value: object) -> object:
    """Turn `1h30m` into a timedelta; leave to the type's own check what is not text.

    Raises:
        ValueError: Text that is no duration.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = f"{value:g}"  # A bare number has no unit: it is refused below, as the text that it is.
    if not isinstance(value, str):
        return value
    text = value.strip()
    match = _SHAPE.fullmatch(text)
    if not text or match is None:
        msg = f'wanted a duration as "90s", "20m", "12h", "1h30m" or "7d", found {value!r}'
        raise ValueError(msg)
    parts = zip(match.groups(), _UNITS.values(), strict=True)
    try:
        return timedelta(seconds=sum(float(number) * unit for number, unit in parts if number))
    except OverflowError as exc:
        msg = f"wanted a duration of less than 999999999d, found {value!r}"
        raise ValueError(msg) from exc


def render_duration(value: timedelta) -> str:
    """Show a duration as it is written in a job file, the shortest exact form."""
    seconds = value.total_seconds()
    whole, rest = int(seconds), seconds - int(seconds)
    text = ""
    for letter, unit in _UNITS.items():
        count, whole = divmod(whole, unit)
        if letter == "s" and rest:
            text += f"{count + rest:g}s"
        elif count:
            text += f"{count}{letter}"
    return text or "0s"


Duration = Annotated[
    timedelta,
    BeforeValidator(parse_duration),
    PlainSerializer(render_duration, return_type=str),
    WithJsonSchema({"type": "string", "pattern": r"^(\d+d)?(\d+h)?(\d+m)?(\d+(\.\d+)?s)?$", "examples": ["20m"]}),
]
