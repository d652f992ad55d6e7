"""Holds a call's arguments against its tool's schema, and says what is wrong in words that a model can act on."""

from __future__ import annotations

import json
from difflib import get_close_matches
from functools import cache

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import ErrorDetails

from kova_auto.core.errors import ToolArgumentsError
from kova_auto.core.message import ToolCall
from kova_auto.tools.tool import Tool

_MAX_SHOWN = 80


def arguments_of(tool: Tool, call: ToolCall) -> BaseModel:
    """Return a call's arguments.

    Raises:
        ToolArgumentsError: They do not fit; the message names each one that does not.
    """
    if call.unparsed is not None:
        schema = json.dumps(parameters_of(tool.arguments), ensure_ascii=False, separators=(",", ":"))
        complaint = _json_complaint(call.unparsed)
        message = f"the arguments of {tool.name} must be a JSON object: {complaint}; their schema: {schema}"
        raise ToolArgumentsError(message)
    try:
        return tool.arguments.model_validate(call.args)
    except ValidationError as exc:
        known = list(tool.arguments.model_fields)
        wrong = "; ".join(_complaint(error, known) for error in exc.errors(include_url=False))
        message = f"the arguments of {tool.name} do not fit its schema: {wrong}"
        raise ToolArgumentsError(message) from exc


def _json_complaint(text: str) -> str:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as exc:
        return f"{exc}; found {_short(text)}"
    return f"found {type(found).__name__} {_short(text)}"


def _complaint(error: ErrorDetails, known: list[str]) -> str:
    place = ".".join(map(str, error["loc"]))
    if error["type"] == "missing":
        return f"{place} is missing"
    if error["type"] == "extra_forbidden":
        close = get_close_matches(str(error["loc"][-1]), known, n=1, cutoff=0.4)
        meant = f", did you mean {close[0]}?" if close else ""
        return f"{place} is unknown{meant} (known: {', '.join(known)})"
    said = error["msg"].removeprefix("Value error, ")
    return f"{place}: {said[:1].lower()}{said[1:]}, found {_short(error['input'])}"


def _short(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return repr(text[:_MAX_SHOWN] + "...") if len(text) > _MAX_SHOWN else repr(value)


@cache
def parameters_of(arguments: type[BaseModel]) -> dict[str, JsonValue]:
    """Return the JSON Schema that a model is told: every reference resolved, nothing in it that is only for us.

    It is made once for each kind of arguments, and is not to be changed.
    """
    schema: dict[str, JsonValue] = arguments.model_json_schema()
    definitions = schema.pop("$defs", {})
    schema.pop("description", None)
    return _plain_object(schema, definitions if isinstance(definitions, dict) else {})


def _plain(node: JsonValue, definitions: dict[str, JsonValue]) -> JsonValue:
    if isinstance(node, list):
        return [_plain(item, definitions) for item in node]
    return _plain_object(node, definitions) if isinstance(node, dict) else node


def _plain_object(node: dict[str, JsonValue], definitions: dict[str, JsonValue]) -> dict[str, JsonValue]:
    node = _without_null(_resolved(node, definitions))
    plain = {key: _plain(value, definitions) for key, value in node.items() if key not in ("title", "properties")}
    if isinstance(properties := node.get("properties"), dict):  # one of them may be called `title`
        plain["properties"] = {name: _plain(value, definitions) for name, value in properties.items()}
    return plain


def _resolved(node: dict[str, JsonValue], definitions: dict[str, JsonValue]) -> dict[str, JsonValue]:
    reference = node.get("$ref")
    named = definitions.get(reference.rpartition("/")[2]) if isinstance(reference, str) else None
    return {**named, **{key: node[key] for key in node if key != "$ref"}} if isinstance(named, dict) else node


def _without_null(node: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Return a value that may be left out as what it is where it is not."""
    kinds = node.get("anyOf")
    if not isinstance(kinds, list) or "default" not in node or node["default"] is not None:
        return node
    others = [kind for kind in kinds if isinstance(kind, dict) and kind.get("type") != "null"]
    kept = {key: node[key] for key in node if key not in ("anyOf", "default")}
    return {**others[0], **kept} if len(others) == 1 else node
