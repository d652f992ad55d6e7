"""Describe what is sent as `standard`: a JSON Schema for each type of event, and all of them as one OpenAPI document.

Made from the notices themselves, so that neither can say what the other does not. A receiver ignores names that it does
not know: new ones may come.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, get_args

from kova_auto.core.delivery.data import LONG
from kova_auto.core.delivery.limits import LIMITS
from kova_auto.core.delivery.notice import ApprovalNotice, Notice, RunReport
from kova_auto.core.delivery.thin import KEPT
from kova_auto.core.job import Outcome

Schema = dict[str, Any]

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_VERSION: Final = "1"
_IN_OPENAPI: Final = "#/components/schemas/"
_ALONE: Final = "#/$defs/"
_HIDDEN: Final = frozenset({"kind", "answer_token"})
_NOT_ALWAYS: Final = frozenset({"note", "answer_url"})
_INSTANT: Final[Schema] = {"type": "string", "format": "date-time"}
_COUNT: Final[Schema] = {"type": "integer", "minimum": 0}


def _types() -> Iterator[tuple[str, type[Notice], Schema]]:
    """Yield each type of event, of which notice it is, and what is known of its data by the type alone."""
    for kind in get_args(Notice):
        found: dict[str, list[Schema]] = {}
        for variant in _variants(kind):
            found.setdefault(kind.model_construct(**variant).type, []).append(variant)
        for name, variants in found.items():
            keys = variants[0]
            yield (
                name,
                kind,
                {key: {"enum": [variant[key] for variant in variants]} for key in keys if key != "unreached"},
            )


def _variants(kind: type[Notice]) -> Iterator[Schema]:
    """Yield the values of the one field that decides the type of a notice."""
    if kind is RunReport:
        yield from ({"outcome": outcome} for outcome in Outcome)
    elif kind is ApprovalNotice:
        yield from ({"unreached": ""}, {"unreached": "why"})
    elif "what" in kind.model_fields:
        yield from ({"what": what} for what in get_args(kind.model_fields["what"].annotation))
    else:
        yield {}


def event_types() -> list[str]:
    """Return the type of every event that there is."""
    return sorted({name for name, _, _ in _types()})


def event_schema(name: str) -> Schema:
    """Return the JSON Schema of the messages of one type, complete in itself.

    Raises:
        KeyError: There is no such type.
    """
    kinds = {of: (kind, known) for of, kind, known in _types()}
    kind, known = kinds[name]
    return {"$schema": DIALECT, **_message(name, kind, known, _ALONE), "$defs": _parts(_ALONE)}


def openapi() -> Schema:
    """Return the OpenAPI 3.1 document whose webhooks are the events."""
    kinds = {name: (kind, known) for name, kind, known in _types()}
    messages = {name: _message(name, kind, known, _IN_OPENAPI) for name, (kind, known) in sorted(kinds.items())}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Webhooks of kova-auto",
            "version": _VERSION,
            "description": "What an endpoint of the format `standard` is sent, signed as Standard Webhooks 1.0.0 says.",
        },
        "jsonSchemaDialect": DIALECT,
        "webhooks": {name: {"post": _operation(name, kinds[name][0])} for name in messages},
        "components": {"schemas": {**messages, **_parts(_IN_OPENAPI)}, "parameters": {**_PARAMETERS}},
    }


def _operation(name: str, kind: type[Notice]) -> Schema:
    content: Schema = {"application/json": {"schema": {"$ref": f"{_IN_OPENAPI}{name}"}}}
    return {
        "operationId": name.replace(".", "_"),
        "summary": _first_line(kind),
        "parameters": [{"$ref": f"#/components/parameters/{header}"} for header in _PARAMETERS],
        "requestBody": {"required": True, "content": content},
        "responses": {
            "2XX": {"description": "Taken."},
            "410": {"description": "Wants no more of them: the endpoint is disabled."},
            "429": {"description": "Wants them later; Retry-After is heeded."},
            "default": {"description": "Not taken: it is sent again with the same webhook-id."},
        },
    }


def _first_line(kind: type[Notice]) -> str:
    return (kind.__doc__ or "").partition("\n")[0]


def _header(meaning: str, schema: Schema) -> Schema:
    return {"in": "header", "required": True, "description": meaning, "schema": schema}


_PARAMETERS: Final[Mapping[str, Schema]] = {
    name: {"name": name, **described}
    for name, described in {
        "webhook-id": _header(
            "The delivery's id, the same on every attempt.", {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,128}$"}
        ),
        "webhook-timestamp": _header("Seconds since 1970, of this attempt.", {"type": "string", "pattern": "^[0-9]+$"}),
        "webhook-signature": _header(
            "Signatures with a space between, each `v1,` or `v1a,` and Base64.",
            {"type": "string", "pattern": "^(v1|v1a),[A-Za-z0-9+/=]+( (v1|v1a),[A-Za-z0-9+/=]+)*$"},
        ),
    }.items()
}


def _message(name: str, kind: type[Notice], known: Schema, refs: str) -> Schema:
    full, thin = f"{kind.__name__}Data", f"{kind.__name__}ThinData"
    own = {key: value for key, value in known.items() if key in KEPT[kind]}
    data = [
        {"allOf": [{"$ref": f"{refs}{full}"}, {"properties": {**known}}]},
        {"allOf": [{"$ref": f"{refs}{thin}"}, {"properties": {**own}}]},
    ]
    return {
        "title": name,
        "description": f"{_first_line(kind)} At most {LIMITS['standard']['body'].most} bytes.",
        "type": "object",
        "required": ["type", "timestamp", "data"],
        "properties": {"type": {"const": name}, "timestamp": _INSTANT, "data": {"anyOf": data}},
    }


def _parts(refs: str) -> Schema:
    """Return what the messages refer to: the data of each notice in full and thin, and what is in these."""
    parts: Schema = {}
    for kind in get_args(Notice):
        schema = _stripped(kind.model_json_schema(mode="serialization", ref_template=f"{refs}{{model}}"))
        parts |= schema.pop("$defs", {})
        fields = {key: value for key, value in schema["properties"].items() if key not in _HIDDEN}
        parts[f"{kind.__name__}Data"] = _object({**fields, **_said_besides(kind), **_sizes(kind)}, schema)
        kept = {key: value for key, value in fields.items() if key in KEPT[kind]}
        thin = {**kept, **_said_besides(kind), **_WAYS, "thin": {"const": True}}
        parts[f"{kind.__name__}ThinData"] = _object(thin, {"description": "The same without any text of others."})
    return dict(sorted(parts.items()))


def _object(fields: Schema, schema: Schema) -> Schema:
    required = sorted(fields.keys() - _NOT_ALWAYS)
    return {
        "type": "object", "description": schema.get("description", ""), "required": required, "properties": fields,
    }  # fmt: skip


_WAYS: Final[Schema] = {
    "links": {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["label", "url"],
            "properties": {"label": {"type": "string"}, "url": {"type": "string", "format": "uri"}},
        },
    },
    "commands": {"type": "array", "items": {"type": "string"}},
}


def _said_besides(kind: type[Notice]) -> Schema:
    counts: Schema = {"denied_count": _COUNT, "changes_count": _COUNT} if kind is RunReport else {}
    return {**counts, "note": {"type": "string"}} if "scripted" in kind.model_fields else counts


def _sizes(kind: type[Notice]) -> Schema:
    return {f"{LONG[kind]}_bytes": _COUNT, f"{LONG[kind]}_bytes_sent": _COUNT, "truncated": {"type": "boolean"}}


def _stripped(value: Any, *, named: bool = False) -> Any:  # noqa: ANN401 -- whatever JSON holds
    """Return a schema without what says nothing, or more than is promised: titles, defaults, and no further names."""
    if isinstance(value, list):
        return [_stripped(item) for item in value]
    if not isinstance(value, dict):
        return value
    idle = set() if named else {"title", "default", "additionalProperties"}
    return {
        key: _described(item) if key == "description" and not named else _stripped(item, named=key in _NAMED)
        for key, item in value.items()
        if key not in idle or (key == "additionalProperties" and item is not False)
    }


_NAMED: Final = frozenset({"properties", "$defs"})


def _described(text: str) -> str:
    """Return the sentences of a docstring, and nothing of its layout."""
    return " ".join(text.partition("\n\nAttributes:")[0].split())
