"""What is wrong with a schema is found as it is loaded, each thing with its place."""

from __future__ import annotations

import json

import pytest
from pydantic import JsonValue

from kova_auto.core.output.schema import DIALECT, MAX_BYTES, flaws

LOOKS = "is not matched here: look-around, including look-ahead and look-behind, is not supported"
NOTHING = "in this file, and nothing is fetched"
RECURSIVE = {
    "$ref": "#/$defs/node",
    "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
}


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"$schema": DIALECT, "type": "object"},
        {"$schema": f"{DIALECT}#"},
        {"$id": "https://example.org/a.json", "$ref": "#/$defs/x", "$defs": {"x": {"type": "string"}}},
        {"$ref": "#here", "$defs": {"x": {"$anchor": "here"}}},
        {"$ref": DIALECT},
        {"examples": [{"pattern": "(?=a)"}], "const": {"$ref": "nowhere.json"}},
        {"properties": {"pattern": {"type": "string"}, "$ref": {"type": "string"}}},
        {"format": "anything", "x-own": 1},
        RECURSIVE,
    ],
    ids=range(10),
)
def test_a_sound_schema_has_no_flaws(schema: JsonValue) -> None:
    assert [*flaws(json.dumps(schema))] == []


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "strin"}, "at /type: 'strin' is not valid under any of the given schemas"),
        ({"properties": {"a/b": {"minimum": "x"}}}, "at /properties/a~1b/minimum: 'x' is not of type 'number'"),
        (["object"], 'wanted a JSON Schema, which is an object, found ["object"]'),
        (True, "wanted a JSON Schema, which is an object, found true"),
        (
            {"$schema": "http://json-schema.org/draft-07/schema#"},
            f'at /$schema: wanted {DIALECT}, found "http://json-schema.org/draft-07/schema#"',
        ),
        ({"allOf": [{"$schema": DIALECT}]}, "at /allOf/0/$schema: wanted $schema at the top alone"),
        (
            {"items": {"$ref": "https://example.org/x.json"}},
            'at /items/$ref: there is no "https://example.org/x.json" in this file, and nothing is fetched',
        ),
        (
            {"$ref": "file:///etc/passwd"},
            f'at /$ref: there is no "file:///etc/passwd" {NOTHING}',
        ),
        ({"$ref": "#/$defs/none"}, 'at /$ref: there is no "#/$defs/none" in this file, and nothing is fetched'),
        (
            {"$id": "https://example.org/a.json", "$ref": "b.json"},
            'at /$ref: there is no "b.json" in this file, and nothing is fetched',
        ),
        ({"$ref": "#"}, "at the top: a $ref leads back to itself without end"),
        (
            {"anyOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"not": {"$ref": "#"}}}},
            "at the top: a $ref leads back to itself without end",
        ),
        ({"pattern": "("}, 'at /pattern: "(" is not matched here: unclosed group'),
        (
            {"properties": {"a": {"pattern": "(a)\\1"}}},
            'at /properties/a/pattern: "(a)\\\\1" is not matched here: backreferences are not supported',
        ),
        (
            {"patternProperties": {"(?=a)": {}}},
            f'at /patternProperties: "(?=a)" {LOOKS}',
        ),
        (
            {"$ref": "#/parts/a", "parts": {"a": {"pattern": "(?<!a)b"}}},
            f'at /$ref/pattern: "(?<!a)b" {LOOKS}',
        ),
        (
            {"patternProperties": {"^x": {}}, "unevaluatedProperties": False},
            "at the top: patternProperties do not go with unevaluatedProperties here; use additionalProperties",
        ),
    ],
    ids=range(17),
)
def test_a_flaw_is_said_with_its_place(schema: JsonValue, said: str) -> None:
    assert [*flaws(json.dumps(schema))] == [said]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "wanted JSON, found a mistake at line 1, column 2: "),
        ("", "wanted JSON and nothing else, found other text at its beginning"),
        ('{"type": "object", "type": "array"}', 'wanted each name once in an object, found "type" twice'),
        (json.dumps({"description": "x" * MAX_BYTES}), f"wanted at most {MAX_BYTES} bytes, found "),
    ],
    ids=["half", "nothing", "twice", "long"],
)
def test_what_is_no_json_is_no_schema(text: str, said: str) -> None:
    [found] = flaws(text)
    assert found.startswith(said)
