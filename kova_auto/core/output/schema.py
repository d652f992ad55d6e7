"""Check a schema itself, as the job file that names it is loaded: what could fail later fails here, with its place.

Nothing is ever fetched: what a schema refers to lies in it, or is a part of JSON Schema.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from pydantic import JsonValue

from kova_auto.core.output.extract import NoJsonError, read_json
from kova_auto.core.output.patterns import flaw

MAX_BYTES: Final = 64 << 10
DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

_PROBES: Final[tuple[JsonValue, ...]] = (None, True, 0, "", [], {})
_ONE = ("not", "if", "then", "else", "items", "contains", "additionalProperties", "propertyNames")
_ONE_MORE = ("unevaluatedItems", "unevaluatedProperties", "contentSchema")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")


def pointer(path: tuple[object, ...]) -> str:
    """Return a place as a JSON pointer; the top is empty.

    Source: RFC 6901.
    """
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path)


def at(path: tuple[object, ...]) -> str:
    """Return a place in words."""
    return f"at {pointer(path)}" if path else "at the top"


def flaws(text: str) -> Iterator[str]:
    """Yield what is wrong with the text of a schema, each with its place; nothing where it can be used."""
    if (size := len(text.encode(errors="replace"))) > MAX_BYTES:
        yield f"wanted at most {MAX_BYTES} bytes, found {size}: the model is shown all of it"
        return
    try:
        schema = read_json(text)
    except NoJsonError as exc:
        yield str(exc)
        return
    if not isinstance(schema, dict):
        yield f"wanted a JSON Schema, which is an object, found {json.dumps(schema)[:40]}"
        return
    checks = (_of_dialect, _by_metaschema, _of_parts, _of_loops)
    yield from next((found for check in checks if (found := [*check(schema)])), [])


def applied(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema as it is applied: the library would take `$schema` for leave to use keywords of its own."""
    return {name: value for name, value in schema.items() if name != "$schema"}


def _of_dialect(schema: dict[str, Any]) -> Iterator[str]:
    dialect = schema.get("$schema", DIALECT)
    if not isinstance(dialect, str) or dialect.rstrip("#") != DIALECT:
        yield f"at /$schema: wanted {DIALECT}, found {json.dumps(dialect)[:100]}"


def _by_metaschema(schema: dict[str, Any]) -> Iterator[str]:
    from jsonschema import Draft202012Validator

    found = Draft202012Validator(Draft202012Validator.META_SCHEMA).iter_errors(schema)
    for error in sorted(found, key=lambda error: [*map(str, error.absolute_path)]):
        yield f"{at(tuple(error.absolute_path))}: {error.message[:300]}"


def _of_parts(schema: dict[str, Any]) -> Iterator[str]:
    """Yield what is wrong with the patterns and the references of a schema."""
    from jsonschema_specifications import REGISTRY
    from referencing.jsonschema import DRAFT202012

    resource = DRAFT202012.create_resource(applied(schema))
    yield from _Walk(set()).through(resource.contents, REGISTRY.resolver_with_root(resource), ())


class _Walk:
    """Go through a schema and all that it refers to, each part once."""

    def __init__(self, seen: set[int]) -> None:
        self._seen = seen

    def through(self, schema: Any, resolver: Any, path: tuple[object, ...]) -> Iterator[str]:  # noqa: ANN401  # what JSON holds, and a library's own
        if not isinstance(schema, dict) or id(schema) in self._seen:
            return
        self._seen.add(id(schema))
        yield from _of_one(schema, path)
        for name, inner in _subschemas(schema):
            yield from self.through(inner, _inside(resolver, inner), (*path, *name))
        for key in ("$ref", "$dynamicRef"):
            if isinstance(target := schema.get(key), str):
                yield from self._behind(target, resolver, (*path, key))

    def _behind(self, target: str, resolver: Any, path: tuple[object, ...]) -> Iterator[str]:  # noqa: ANN401  # a library's own
        from referencing.exceptions import Unresolvable

        try:
            resolved = resolver.lookup(target)
        except Unresolvable:
            yield f"{at(path)}: there is no {json.dumps(target)[:200]} in this file, and nothing is fetched"
            return
        if _is_ours(resolved.contents):
            yield from self.through(resolved.contents, resolved.resolver, path)


def _of_one(schema: dict[str, Any], path: tuple[object, ...]) -> Iterator[str]:
    patterns = [("pattern", schema["pattern"])] if isinstance(schema.get("pattern"), str) else []
    by_name = schema.get("patternProperties", {})
    patterns += [("patternProperties", name) for name in by_name]
    for key, pattern in patterns:
        if why := flaw(pattern):
            yield f"{at((*path, key))}: {json.dumps(pattern)[:200]} is not matched here: {why}"
    if path and "$schema" in schema:
        yield f"{at((*path, '$schema'))}: wanted $schema at the top alone"
    if by_name and "unevaluatedProperties" in schema:
        yield f"{at(path)}: patternProperties do not go with unevaluatedProperties here; use additionalProperties"


def _subschemas(schema: dict[str, Any]) -> Iterator[tuple[tuple[object, ...], Any]]:
    for key in (*_ONE, *_ONE_MORE):
        if key in schema:
            yield (key,), schema[key]
    for key in _LISTS:
        yield from (((key, index), inner) for index, inner in enumerate(schema.get(key, ())))
    for key in _MAPS:
        yield from (((key, name), inner) for name, inner in schema.get(key, {}).items())


def _inside(resolver: Any, schema: Any) -> Any:  # noqa: ANN401  # a library's own
    from referencing.jsonschema import DRAFT202012

    return resolver.in_subresource(DRAFT202012.create_resource(schema)) if isinstance(schema, dict) else resolver


def _is_ours(contents: object) -> bool:
    """Say whether a schema lies in the file: the dialect's own are known to be sound, and use what ours may not."""
    return isinstance(contents, dict) and not str(contents.get("$id", "")).startswith("https://json-schema.org/")


def _of_loops(schema: dict[str, Any]) -> Iterator[str]:
    """Yield the reference that leads back to itself without going into the answer: it would be followed for ever."""
    from kova_auto.core.output.keywords import TooMuchError, bounded, validator_of

    try:
        for probe in _PROBES:
            with bounded():
                validator_of(applied(schema)).is_valid(probe)
    except TooMuchError:
        yield "at the top: a $ref leads back to itself without end"
