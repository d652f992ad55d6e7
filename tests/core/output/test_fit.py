"""Whether an answer fits its schema, and what is said where it does not."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import JsonValue

from kova_auto.core.output.fit import MAX_PROBLEMS, MAX_SHOWN, Fit, fit
from kova_auto.core.output.keywords import MAX_LOOKS

TRIAGE: JsonValue = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "required": ["title", "risk"],
    "additionalProperties": False,
    "properties": {
        "title": {"type": "string", "maxLength": 20},
        "risk": {"enum": ["low", "high"]},
        "paths/all": {"type": "array", "items": {"type": "string", "pattern": "^src/"}, "uniqueItems": True},
    },
}


def problems(value: JsonValue, schema: JsonValue) -> tuple[str, ...]:
    return fit(json.dumps(value), json.dumps(schema)).problems


def test_of_an_answer_that_fits_the_json_is_kept_as_it_was_written() -> None:
    answer = '```json\n{"title": "A",  "risk": "low"}\n```'
    assert fit(answer, json.dumps(TRIAGE)) == Fit('{"title": "A",  "risk": "low"}')


def test_of_one_that_is_no_json_everything_is_kept() -> None:
    assert fit("Low risk.", json.dumps(TRIAGE)) == Fit(
        "Low risk.", ("at the top: wanted JSON and nothing else, found other text at its beginning",)
    )


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (7, ["at the top: 7 is not of type 'object'"]),
        (
            {"title": 1, "extra": 2},
            [
                "at the top: 'risk' is a required property",
                "at the top: there must be no 'extra'",
                "at /title: 1 is not of type 'string'",
            ],
        ),
        ({"title": "A", "risk": "none"}, ["at /risk: 'none' is not one of ['low', 'high']"]),
        (
            {"title": "A", "risk": "low", "paths/all": ["src/a", "lib/b", "src/a"]},
            ["at /paths~1all: items 0 and 2 are the same", "at /paths~1all/1: 'lib/b' does not match '^src/'"],
        ),
    ],
)
def test_each_problem_has_its_place(value: JsonValue, said: list[str]) -> None:
    assert [*problems(value, TRIAGE)] == said


SHAPES: JsonValue = {
    "oneOf": [
        {
            "type": "object",
            "required": ["radius"],
            "properties": {"radius": {"type": "number"}},
        },
        {
            "type": "object",
            "required": ["side"],
            "properties": {"side": {"type": "number"}},
        },
        {"type": "string"},
    ]
}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"radius": "x"}, "at /radius: 'x' is not of type 'number'"),
        ({"radius": 1, "side": 2}, "at the top: {'radius': 1, 'side': 2} is valid under each of "),
        (True, "at the top: True is not valid under any of the given schemas"),
    ],
)
def test_of_alternatives_the_nearest_is_spoken_of(value: JsonValue, said: str) -> None:
    [found] = problems(value, SHAPES)
    assert found.startswith(said)


@pytest.mark.parametrize(
    ("value", "schema", "fits"),
    [
        (19.99, {"multipleOf": 0.01}, True),
        (19.999, {"multipleOf": 0.01}, False),
        (1e300, {"multipleOf": 3}, False),
        (True, {"multipleOf": 2}, True),
        ([1, 1.0], {"uniqueItems": True}, False),
        ([1, True], {"uniqueItems": True}, True),
        ([{"a": 1, "b": 2}, {"b": 2, "a": 1}], {"uniqueItems": True}, False),
        ([1, 1], {"uniqueItems": False}, True),
        (1.0, {"type": "integer"}, True),
        ({"x-a": 1}, {"patternProperties": {"^x-": {"type": "string"}}}, False),
        ({"x-a": 1}, {"patternProperties": {"^x-": {}}, "additionalProperties": False}, True),
        ({"y": 1}, {"patternProperties": {"^x-": {}}, "additionalProperties": False}, False),
        ({"y": 1}, {"additionalProperties": {"type": "string"}}, False),
        ({"a": 1}, {"properties": {"a": {}}, "unevaluatedProperties": False}, True),
        ("2026-13-45", {"format": "date"}, True),
        ("x\n", {"pattern": "x$"}, False),
        (
            {"n": {"n": {"n": 1}}},
            {"properties": {"n": {"$ref": "#"}}},
            True,
        ),
        (1, {"$ref": "https://json-schema.org/draft/2020-12/schema"}, False),
    ],
    ids=lambda value: json.dumps(value)[:50],
)
def test_the_keywords_mean_what_the_draft_says(value: JsonValue, schema: JsonValue, fits: bool) -> None:
    assert (problems(value, schema) == ()) is fits


def test_of_many_problems_the_first_are_said_and_the_rest_counted() -> None:
    found = problems([1] * 50, {"items": {"type": "string"}})
    assert (len(found), found[0], found[-1]) == (
        MAX_PROBLEMS + 1,
        "at /0: 1 is not of type 'string'",
        f"and {50 - MAX_PROBLEMS} more",
    )


def test_a_long_value_is_not_repeated_whole() -> None:
    [found] = problems("x" * 10_000, {"const": 1, "type": "number"})[:1]
    assert len(found) < MAX_SHOWN + 40


def test_a_pattern_that_could_take_for_ever_does_not() -> None:
    assert problems("a" * 5000 + "!", {"pattern": "^(a+)+$"}) != ()


def test_alternatives_that_multiply_with_each_level_are_given_up() -> None:
    branch: JsonValue = {"type": "array", "items": {"$ref": "#/$defs/a"}, "minItems": 1}
    schema: JsonValue = {"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [branch, branch]}}}
    value: JsonValue = 1
    for _ in range(40):
        value = [value]

    said = f"at the top: wanted an answer that is checked in {MAX_LOOKS} steps; make it smaller or less nested"
    assert problems(value, schema) == (said,)


scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "low", "src/a", "x" * 30])
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["title", "risk", "paths/all", "kind", "radius"]), inner, max_size=4)
    ),
    max_leaves=8,
)


@given(values, st.sampled_from([TRIAGE, SHAPES]))
def test_the_library_itself_finds_the_same(value: JsonValue, schema: JsonValue) -> None:
    assert (problems(value, schema) == ()) is Draft202012Validator(schema).is_valid(value)


@given(st.text(max_size=200))
def test_no_answer_whatever_breaks_it(answer: str) -> None:
    found = fit(answer, json.dumps(TRIAGE))
    assert (found.problems != (), found.text) == (True, answer)
