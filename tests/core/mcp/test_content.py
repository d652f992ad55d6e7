"""What is shown of a tool's answer, and what is said of the rest."""

from __future__ import annotations

import base64

import pytest
from pydantic import JsonValue

from kova_auto.core.errors import ConfigError
from kova_auto.core.mcp.content import answered
from kova_auto.core.mcp.expansion import expanded

PIXEL = b"\x89PNG\r\n\x1a\n" + bytes(20)


def text_of(*content: JsonValue, **more: JsonValue) -> str:
    return answered({"content": list(content), **more}, 1_000).text


def text(said: str) -> JsonValue:
    return {"type": "text", "text": said}


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ([text("one"), text("two")], "one\ntwo"),
        ([], "[the answer is empty]"),
        ([text("a\ud800b\0c")], "a?b\N{REPLACEMENT CHARACTER}c"),
        ([{"type": "audio", "data": "AA", "mimeType": "audio/wav"}], "[audio (audio/wav) is left out]"),
        ([{"type": "hologram"}], "[a part of the kind hologram is left out]"),
        ([{"type": 7}], "[a part of the kind without a name is left out]"),
        (
            [{"type": "resource_link", "uri": "file:///a", "name": "A", "description": "It is."}],
            "[resource file:///a: A; it is not fetched]\nIt is.",
        ),
        ([{"type": "resource", "resource": {"uri": "x:y", "text": "words"}}], "[resource x:y]\nwords"),
        (
            [{"type": "resource", "resource": {"uri": "x:y", "mimeType": "a/b", "blob": "AAAA"}}],
            "[resource x:y (a/b, about 3 bytes) is left out: it is no text]",
        ),
        ([{"type": "resource", "resource": None}], "[a resource is left out: it is none]"),
        (
            [{"type": "image", "mimeType": "image/png", "data": "***"}],
            "[an image (image/png) is left out: it is no Base64]",
        ),
        (["no part", None], "[the answer is empty]"),
    ],
)
def test_each_kind_of_content_is_shown_or_named(content: list[JsonValue], shown: str) -> None:
    assert text_of(*content) == shown


def test_images_are_taken_out_of_the_text() -> None:
    image: JsonValue = {"type": "image", "mimeType": "image/png", "data": base64.b64encode(PIXEL).decode()}
    found = answered({"content": [image, text("below")]}, 1_000)
    assert (found.images, found.text) == ((PIXEL,), "below")
    assert len(answered({"content": [image] * 9}, 1_000).images) == 4


def test_structured_content_is_shown_where_no_text_says_it() -> None:
    assert text_of(structuredContent={"a": 1}) == '{"a": 1}'
    assert text_of(text("a is 1"), structuredContent={"a": 1}) == "a is 1"


def test_a_tool_says_itself_that_it_failed() -> None:
    assert answered({"content": [text("no")], "isError": True}, 10).failed
    assert not answered({"content": [text("no")], "isError": "yes"}, 10).failed


def test_a_tool_that_wants_more_input_has_failed() -> None:
    found = answered({"resultType": "input_required", "inputRequests": {"a": {}}}, 10)
    assert found.failed
    assert "nobody gives it" in found.text


def test_no_more_is_kept_than_the_bound() -> None:
    found = text_of(text("ä" * 5_000))
    assert found.startswith("ä" * 500)
    assert "cut here" in found
    assert len(found.encode()) < 1_200


@pytest.mark.parametrize("content", [None, 7, "x", {"type": "text"}])
def test_what_is_no_content_is_empty(content: JsonValue) -> None:
    assert answered({"content": content}, 99).text == "[the answer is empty]"


VALUES = {"TOKEN": "t0k3n", "NESTED": "${TOKEN}", "EMPTY": ""}


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("plain $TOKEN", "plain $TOKEN"),
        ("Bearer ${TOKEN}", "Bearer t0k3n"),
        ("${NOPE:-here}/${TOKEN}", "here/t0k3n"),
        ("${NOPE:-}", ""),
        ("${NESTED}", "${TOKEN}"),
        ("${EMPTY:-full}", "full"),
        ("${NOPE:-a:b}", "a:b"),
        ("Bearer ${env:TOKEN}", "Bearer t0k3n"),
        ("${env:NOPE:-here}", "here"),
        ("${X:+a} ${X:=b}", "${X:+a} ${X:=b}"),
    ],
)
def test_references_are_replaced_once(written: str, read: str) -> None:
    assert expanded(written, VALUES.get, "name it") == read


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("${NOPE}", "${NOPE} has no value here (name it)"),
        ("${a b}", "wanted"),
        ("${input:key}", "${input:key} asks a person"),
        ("${config:a.b}", "wanted ${NAME}"),
    ],
)
def test_a_reference_without_a_value_is_named(written: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        expanded(written, VALUES.get, "name it")
    assert said in str(caught.value)
