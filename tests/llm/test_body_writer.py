"""A body comes out of the writer, who writes the same tools once, as it would out of the serializer."""

from __future__ import annotations

import json

import pytest

from kova_auto.core.message import ModelRequest, TextPart, ToolSpec, UserMessage
from kova_auto.core.provider import Provider, WireProtocol
from kova_auto.llm.catalog import Spoken, wire_of
from kova_auto.llm.wording import Body, Writer, body_of, written

PROTOCOLS: tuple[Spoken, ...] = (
    WireProtocol.OPENAI_CHAT,
    WireProtocol.OPENAI_RESPONSES,
    WireProtocol.ANTHROPIC_MESSAGES,
)
PROVIDER = Provider(name="acme", base_url="http://127.0.0.1:9/v1")


def a_tool(name: str = "look", *, default: bool | int = True, description: str = 'Looks at "tools":[].') -> ToolSpec:
    return ToolSpec(name=name, description=description, parameters={"properties": {"deep": {"default": default}}})


def a_request(*tools: ToolSpec, model: str = "m-1") -> ModelRequest:
    said = UserMessage(parts=(TextPart(text='Look, "tools":[] é'),))
    return ModelRequest(model=model, system='"tools":[]', messages=(said,), tools=tools, max_output_tokens=7)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_tools_are_written_as_with_all_else_once_and_again(protocol: Spoken) -> None:
    wire, writer = wire_of(protocol), Writer()
    provider = PROVIDER.model_copy(update={"protocol": protocol})
    requests = [a_request(), a_request(a_tool()), a_request(a_tool()), a_request(a_tool(), a_tool("poll"))]
    for request in (*requests, *reversed(requests)):
        body = body_of(wire, provider, request)
        assert writer.written(body, request) == written(body)


def test_tools_that_are_equal_and_not_the_same_are_written_as_they_are() -> None:
    writer, wire = Writer(), wire_of(WireProtocol.OPENAI_CHAT)

    for default in (True, 1, 1.0, True):
        request = a_request(a_tool(default=default))  # type: ignore[arg-type]  # what a schema may say, too
        body = body_of(wire, PROVIDER, request)
        assert writer.written(body, request) == written(body)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"tools": [{"a": 1}]}, id="alone"),
        pytest.param({"tools": [1], "model": "m"}, id="first"),
        pytest.param({"model": {"tools": []}, "tools": [1]}, id="last"),
        pytest.param({"model": "m", "tools": []}, id="none"),
        pytest.param({"model": "m", "tools": None, "n": 1}, id="null"),
        pytest.param({"model": "m"}, id="not there"),
    ],
)
def test_a_body_may_have_its_tools_anywhere(body: Body) -> None:
    assert Writer().written(body, a_request()) == written(body)


def test_half_a_character_becomes_a_question_mark_in_tools_as_elsewhere() -> None:
    writer = Writer()
    for broken in ({"tools": ["\ud83d"], "n": 1}, {"tools": [1], "n": "\ud83d"}):
        found = writer.written(broken, a_request())  # type: ignore[arg-type]  # as JSON, that is what it is
        assert found == written(broken)  # type: ignore[arg-type]
        assert "?" in json.dumps(json.loads(found))
