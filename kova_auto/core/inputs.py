"""Check what a job is given against what its `[inputs]` declare; the same for a person, a default and a webhook."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kova_auto.core.job import Input
from kova_auto.core.toml.complaints import shown

LONGEST_MATCHED: Final = 1_000
"""What a pattern looks at: a careless one takes time that grows fast with the length."""

_INT: Final = re.compile(r"-?(0|[1-9][0-9]{0,17})")


def misfit(declared: Input, value: str) -> str:
    """Return what is wrong with a value, as `wanted …, found …`; empty where it fits."""
    if len(value) > declared.max_length:
        return f"wanted at most max_length = {declared.max_length} characters, found {len(value)}"
    if declared.one_of and value not in declared.one_of:
        return f"wanted {' or '.join(map(shown, declared.one_of))}, found {shown(value)}"
    if declared.pattern is not None and not re.fullmatch(declared.pattern, value):
        return f"wanted what {declared.pattern} matches, found {shown(value)}"
    return _no_int(declared, value) if declared.type == "int" else ""


def is_free(declared: Input) -> bool:
    """Say whether it takes any text: then a longer one may be cut, and it may say anything."""
    return declared.type == "text" and not declared.one_of and declared.pattern is None


def misdeclared(declared: Input) -> Iterator[tuple[str, str]]:
    """Yield each key of an input that makes no sense, with what is wrong."""
    if declared.pattern is not None:
        try:
            re.compile(declared.pattern)
        except (re.error, OverflowError, RecursionError) as exc:
            yield "pattern", f"wanted a regular expression, found {shown(declared.pattern)}: {exc}"
            return
        if declared.max_length > LONGEST_MATCHED:
            message = f"wanted at most {LONGEST_MATCHED} with a pattern, found {declared.max_length}"
            yield "max_length", message
    if declared.type != "int":
        for key in ("min", "max"):
            if getattr(declared, key) is not None:
                yield key, 'only type = "int" has bounds'
    elif declared.min is not None and declared.max is not None and declared.min > declared.max:
        yield "max", f"wanted at least min = {declared.min}, found {declared.max}"
    if declared.default is not None and (wrong := misfit(declared, declared.default)):
        yield "default", wrong


def _no_int(declared: Input, value: str) -> str:
    if not _INT.fullmatch(value):
        return f"wanted a whole number, found {shown(value)}"
    if declared.min is not None and int(value) < declared.min:
        return f"wanted at least {declared.min}, found {value}"
    if declared.max is not None and int(value) > declared.max:
        return f"wanted at most {declared.max}, found {value}"
    return ""
