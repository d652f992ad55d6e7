"""What of an answer is taken for its JSON, and what is said of everything else."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from kova_auto.core.output.extract import MAX_BYTES, MAX_DEPTH, NoJsonError, extract

DEEP = "[" * MAX_DEPTH + "]" * MAX_DEPTH


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ('{"a": 1}', '{"a": 1}'),
        (' \n{"a": 1}\n ', '{"a": 1}'),
        ("[]", "[]"),
        ('"text"', '"text"'),
        ("null", "null"),
        ("-0.5e3", "-0.5e3"),
        ('\ufeff{"a": 1}', '{"a": 1}'),
        ('```json\n{"a": 1}\n```', '{"a": 1}'),
        ('```\n{"a": 1}\n```\n', '{"a": 1}'),
        ('~~~JSON\n{"a": 1}\n~~~', '{"a": 1}'),
        ('````json\n{"a": "```"}\n````', '{"a": "```"}'),
        ('```json\r\n{"a": 1}\r\n```', '{"a": 1}'),
        ("```json\n[\n  1\n]\n  ```", "[\n  1\n]"),
        ('{"a": "```json\\n1\\n```"}', '{"a": "```json\\n1\\n```"}'),
        (DEEP, DEEP),
    ],
)
def test_the_whole_answer_is_taken_or_the_one_block_that_is_the_whole_of_it(answer: str, text: str) -> None:
    found = extract(answer)
    assert (found.text, found.value) == (text, json.loads(text))


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("", "wanted JSON, found nothing"),
        (" \n", "wanted JSON, found nothing"),
        ("```json\n```", "wanted JSON, found nothing"),
        ("Done.", "wanted JSON and nothing else, found other text at its beginning"),
        ('Here it is:\n{"a": 1}', "wanted JSON and nothing else, found other text at its beginning"),
        ('{"a": 1}\nThat is all.', "wanted JSON and nothing else, found more text at line 2, column 1"),
        ('{"a": 1} {"b": 2}', "wanted JSON and nothing else, found more text at line 1, column 10"),
        ('Look:\n```json\n{"a": 1}\n```', "wanted JSON and nothing else, found other text at its beginning"),
        (
            '```json\n{"a": 1}\n```\n```json\n{"b": 2}\n```',
            "wanted JSON and nothing else, found more text at line 2, column 1",
        ),
        ('{"a": 1', "wanted JSON, found a mistake at line 1, column 8: Expecting ',' delimiter"),
        ("{'a': 1}", "wanted JSON, found a mistake at line 1, column 2: Expecting property name enclosed in"),
        ('{"a": 1,}', "wanted JSON, found a mistake at line 1, column "),
        ('{"a": "x\ny"}', "wanted JSON, found a mistake at line 1, column 9: Invalid control character at"),
        ("[NaN]", "wanted JSON, found NaN, which is no JSON number"),
        ("-Infinity", "wanted JSON, found -Infinity, which is no JSON number"),
        ("1e999", "wanted JSON numbers that a reader can hold, found 1e999"),
        ("1" * 401, f"wanted JSON numbers that a reader can hold, found {'1' * 40}… of 401 digits"),
        ('{"a": {"b": 1, "b": 2}}', 'wanted each name once in an object, found "b" twice'),
        ('"\\ud83d"', "wanted whole characters, found half of a surrogate pair"),
        (f"[{DEEP}]", "wanted JSON of at most 64 levels, found more"),
        ("[" * 100_000, "wanted JSON of at most 64 levels, found more"),
        (f'"{"x" * MAX_BYTES}"', f"wanted at most {MAX_BYTES} bytes of JSON, found {MAX_BYTES + 2}"),
    ],
    ids=range(22),
)
def test_everything_else_is_no_json_and_it_is_said_why(answer: str, why: str) -> None:
    with pytest.raises(NoJsonError) as caught:
        extract(answer)
    assert str(caught.value).startswith(why)


words = st.text(st.characters(codec="utf-8"))
numbers = st.integers(-(10**30), 10**30) | st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | numbers | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=20,
)


@given(st.text() | st.text('{}[]",:`~\\ud0123 \njson', max_size=60))
def test_no_text_whatever_does_anything_but_be_read_or_refused(answer: str) -> None:
    try:
        found = extract(answer)
    except NoJsonError:
        return
    assert json.loads(found.text) == found.value


@given(json_values, st.sampled_from(["{}", " {} ", "```json\n{}\n```", "~~~\n{}\n~~~"]))
def test_what_json_says_comes_out_as_it_went_in(value: JsonValue, around: str) -> None:
    text = json.dumps(value)
    assert extract(around.replace("{}", text)).value == value
