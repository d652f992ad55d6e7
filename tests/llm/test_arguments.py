"""What may be executed: one JSON object that can be read in one way only."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from kova_auto.core.message import CallRequest
from kova_auto.llm.arguments import MAX_DEPTH, parse_arguments, requested

_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("text", "args"),
    [
        ("", {}),
        (" \n", {}),
        ("{}", {}),
        (' {"a": 1} ', {"a": 1}),
        ('{"a": {"b": [null, true, 1.5, "é"]}}', {"a": {"b": [None, True, 1.5, "é"]}}),
        ('{"a": "\\ud83d\\ude80"}', {"a": "🚀"}),
    ],
)
def test_a_json_object_is_the_arguments(text: str, args: dict[str, JsonValue]) -> None:
    assert parse_arguments(text) == args


@pytest.mark.parametrize(
    "text",
    [
        '{"city": "San Fra',
        '{"a": 1',
        '{"a": 1}}',
        '{"a": 1} {"a": 2}',
        "{'a': 1}",
        '{"a": 1,}',
        '{"a": NaN}',
        '{"a": -Infinity}',
        '{"a": 1e999}',
        '{"a": 9223372036854775808}',
        '{"a": ' + "9" * 5000 + "}",
        '{"a": 1, "a": 2}',
        '{"a": {"b": 1, "b": 1}}',
        '{"a": "\\ud83d"}',
        '{"\\ude80": 1}',
        '{"a": "line\nbreak"}',
        "null",
        "[]",
        '"text"',
        "7",
        '```json\n{"a": 1}\n```',
        '{"a": ' + "[" * 100_000,
        '{"a": ' + "[" * MAX_DEPTH + "]" * MAX_DEPTH + "}",
    ],
)
def test_everything_else_is_not_and_is_never_repaired(text: str) -> None:
    assert parse_arguments(text) is None


@settings(deadline=None)
@given(st.dictionaries(st.text(), _VALUES, max_size=5))
def test_what_is_accepted_is_what_was_written(args: dict[str, Any]) -> None:
    assert parse_arguments(json.dumps(args)) == args


@settings(deadline=None)
@given(st.dictionaries(st.text(), _VALUES, min_size=1, max_size=5), st.data())
def test_no_beginning_of_arguments_is_taken_for_the_whole(args: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps(args)
    cut = data.draw(st.integers(1, len(text) - 1))
    assert parse_arguments(text[:cut]) is None


@settings(deadline=None)
@given(st.dictionaries(st.text(), _VALUES, max_size=5))
def test_what_is_accepted_survives_the_journal(args: dict[str, Any]) -> None:
    call = requested("t", json.dumps(args), "", whole=True)
    assert CallRequest.model_validate_json(call.model_dump_json()) == call


def test_arguments_that_are_none_are_kept_as_they_were_written() -> None:
    assert requested("read", '{"path": ', "id-1", whole=True) == CallRequest(
        tool="read", unparsed='{"path": ', provider_id="id-1"
    )


@pytest.mark.parametrize("text", ["", "{}", '{"path": "a"}'])
def test_no_call_of_a_reply_that_was_cut_is_executable(text: str) -> None:
    assert requested("read", text, "", whole=False) == CallRequest(tool="read", unparsed=text)
