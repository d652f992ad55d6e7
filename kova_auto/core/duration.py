"""Durations and calendar instants as people write them: `90s`, `20m`, `12h`, `1h30m`."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

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
    days, hours, minutes, seconds = (number or "0" for number in match.groups())
    try:
        return timedelta(days=int(days), hours=int(hours), minutes=int(minutes), seconds=float(seconds))
    except (OverflowError, ValueError) as exc:  # too long to be read at all, or to be held
        msg = f"wanted a duration of less than 999999999d, found {value!r}"
        raise ValueError(msg) from exc


def render_duration(value: timedelta) -> str:
    """Show a duration as it is written in a job file, the shortest exact form."""
    minutes, seconds = divmod(value.seconds, 60)
    exact = f"{seconds}.{value.microseconds:06}".rstrip("0").removesuffix(".")
    counts = (f"{value.days}d", f"{minutes // 60}h", f"{minutes % 60}m", f"{exact}s")
    return "".join(count for count in counts if count[:-1] != "0") or "0s"


Duration = Annotated[
    timedelta,
    BeforeValidator(parse_duration),
    PlainSerializer(render_duration, return_type=str),
    WithJsonSchema({"type": "string", "pattern": r"^(\d+d)?(\d+h)?(\d+m)?(\d+(\.\d+)?s)?$", "examples": ["20m"]}),
]
