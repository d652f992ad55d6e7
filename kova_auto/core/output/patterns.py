"""Match the regular expressions of a schema, in time that grows with the text alone.

Python's own engine tries every way through `(a+)+$`; the one that pydantic brings does not, and refuses what would
need it: look-around and backreferences.
"""

from __future__ import annotations

from functools import lru_cache

from pydantic_core import SchemaError, SchemaValidator, ValidationError, core_schema


def flaw(pattern: str) -> str:
    """Return why a pattern cannot be matched so; empty where it can."""
    try:
        _matcher(pattern)
    except SchemaError as exc:
        said = [line.strip() for line in str(exc).splitlines() if line.strip().startswith("error: ")]
        return said[-1].removeprefix("error: ") if said else "it is too large, or no regular expression"
    return ""


def matches(pattern: str, text: str) -> bool:
    """Say whether a pattern matches somewhere in a text."""
    try:
        _matcher(pattern).validate_python(text)
    except ValidationError:
        return False
    return True


@lru_cache(maxsize=256)
def _matcher(pattern: str) -> SchemaValidator:
    return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))
