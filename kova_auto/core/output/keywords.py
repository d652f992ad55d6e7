"""The keywords of JSON Schema that are checked in another way than the library's: in bounded time, or exactly.

Every keyword that is looked at counts; a schema whose alternatives multiply with each level of an answer runs out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from functools import wraps
from typing import Any, Final

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend
from jsonschema_specifications import REGISTRY
from pydantic import JsonValue

from kova_auto.core.output.patterns import matches

MAX_LOOKS: Final = 50_000
MAX_NESTED: Final = 150
"""Keywords inside each other: well before the stack is used up, at whose end the library's maps panic."""

Keyword = Callable[[Any, Any, Any, Any], Iterator[ValidationError] | None]


@dataclass
class _Bounds:
    looks: int = 0
    nested: int = 0


_bounds: ContextVar[_Bounds] = ContextVar("what is looked at so far")


class TooMuchError(Exception):
    """Say that checking an answer takes too many steps."""


@contextmanager
def bounded() -> Iterator[None]:
    """Let one answer be checked, within so many looks."""
    token = _bounds.set(_Bounds())
    try:
        yield
    finally:
        _bounds.reset(token)


def _counted(keyword: Keyword) -> Keyword:
    @wraps(keyword)
    def count(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:  # noqa: ANN401  # as the library calls it
        bounds = _bounds.get()
        bounds.looks += 1
        if bounds.looks > MAX_LOOKS or bounds.nested >= MAX_NESTED:
            raise TooMuchError
        bounds.nested += 1
        try:
            yield from keyword(validator, value, instance, schema) or ()
        finally:
            bounds.nested -= 1

    return count


def _pattern(_: object, pattern: str, instance: object, __: object) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not matches(pattern, instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(
    validator: Any,  # noqa: ANN401  # the library has no type for it
    patterns: Mapping[str, Any],
    instance: object,
    _: object,
) -> Iterator[ValidationError]:
    if not isinstance(instance, dict):
        return
    for pattern, subschema in patterns.items():
        for name, value in instance.items():
            if matches(pattern, name):
                yield from validator.descend(value, subschema, path=name, schema_path=pattern)


def _additional_properties(
    validator: Any,  # noqa: ANN401  # the library has no type for it
    allowed: Any,  # noqa: ANN401  # a schema
    instance: object,
    schema: Mapping[str, Any],
) -> Iterator[ValidationError]:
    if not isinstance(instance, dict):
        return
    named, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    extras = [name for name in instance if name not in named and not any(matches(each, name) for each in patterns)]
    if isinstance(allowed, dict):
        for name in extras:
            yield from validator.descend(instance[name], allowed, path=name)
    elif not allowed and extras:
        yield ValidationError(f"there must be no {', '.join(map(repr, extras))}")


def _unique_items(_: object, wanted: object, instance: object, __: object) -> Iterator[ValidationError]:
    if not wanted or not isinstance(instance, list):
        return
    seen: dict[str, int] = {}
    for index, item in enumerate(instance):
        first = seen.setdefault(_canonical(item), index)
        if first != index:
            yield ValidationError(f"items {first} and {index} are the same")
            return


def _canonical(value: JsonValue) -> str:
    return json.dumps(_whole(value), sort_keys=True, separators=(",", ":"))


def _whole(value: JsonValue) -> JsonValue:
    """Return a value in which 1.0 is 1, as they are one number."""
    match value:
        case float():
            return int(value) if value.is_integer() else value
        case list():
            return [_whole(item) for item in value]
        case dict():
            return {name: _whole(item) for name, item in value.items()}
        case _:
            return value


def _multiple_of(_: object, factor: float, instance: object, __: object) -> Iterator[ValidationError]:
    if isinstance(instance, bool) or not isinstance(instance, int | float):
        return
    # By their digits: 19.99 is a multiple of 0.01, whatever their nearest binary fractions are.
    if (Fraction(str(instance)) / Fraction(str(factor))).denominator != 1:
        yield ValidationError(f"{instance!r} is not a multiple of {factor!r}")


_OURS: Mapping[str, Keyword] = {
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "uniqueItems": _unique_items,
    "multipleOf": _multiple_of,
}
BoundedValidator = extend(
    Draft202012Validator,
    {name: _counted(keyword) for name, keyword in {**Draft202012Validator.VALIDATORS, **_OURS}.items()},
)


def validator_of(schema: Mapping[str, Any]) -> Any:  # noqa: ANN401  # the library has no type for it
    """Return what checks answers against a schema, and fetches nothing."""
    return BoundedValidator(schema, registry=REGISTRY)
