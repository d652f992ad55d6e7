"""The official SDK as the judge: it reads the same bytes as we do, and its types describe what we send."""

from __future__ import annotations

import json
from typing import Any, get_args

import httpx2
import openai
import pytest
from openai.types.responses import Response, ResponseError, ResponseStreamEvent
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from pydantic import JsonValue, TypeAdapter

from kova_auto.core.errors import ModelError
from kova_auto.core.fault import TRANSIENT
from kova_auto.core.ids import BlobHash
from kova_auto.core.message import ImagePart, ToolSpec, UserMessage
from kova_auto.llm.openai_responses.encode import encode
from tests.llm.chat_stream import PROMPT, PROVIDER, asks, reply_with, result, tool_call
from tests.llm.responses_stream import (
    Json,
    begun,
    ended,
    event,
    function_call,
    message,
    read,
    read_stream,
    reasoning,
    refused_part,
    said,
    sse,
    told,
    usage,
    whole,
)

TEXT = message(said("Let me look: é🚀."))
READ, GREP = function_call('{"path":"README.md"}'), function_call('{"pattern":"é"}', "grep", 2)
STREAMS = {
    "text": whole(TEXT),
    "text in parts": whole(message(said("One. "), said("Two."))),
    "reasoning, text and calls": whole(
        reasoning("Think."), TEXT, READ, GREP, usage=usage(120, 30, cached=64, written=8, thought=9)
    ),
    "a call without arguments": whole(function_call("")),
    "a refusal": whole(message(refused_part("I cannot."))),
    "nothing": whole(),
    "cut": [
        *begun(),
        *told(TEXT),
        ended("incomplete", TEXT, incomplete_details={"reason": "max_output_tokens"}, usage=usage(9, 3)),
    ],
}


def by_the_sdk(stream: bytes) -> Response:
    def answer(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=stream)

    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    with openai.OpenAI(api_key="k", base_url="http://127.0.0.1/v1", http_client=http) as client:
        events = list(client.responses.create(model="m-1", input="x", stream=True))
    return next(
        one.response
        for one in reversed(events)
        if one.type in ("response.completed", "response.incomplete")  # nothing else ends one that worked
    )


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_same_bytes_give_the_same_reply(name: str, end: str) -> None:
    stream = sse(*STREAMS[name], end=end)
    theirs, ours = by_the_sdk(stream), read_stream(stream)[1]
    assert ours.text == (theirs.output_text or ours.stop_detail)
    assert [(call.provider_id, call.tool, call.args) for call in ours.calls] == [
        (item.call_id, item.name, json.loads(item.arguments or "{}"))
        for item in theirs.output
        if item.type == "function_call"
    ]
    assert theirs.usage is not None
    assert ours.usage.model_dump(exclude={"cost_usd"}) == {
        "input_tokens": theirs.usage.input_tokens,
        "output_tokens": theirs.usage.output_tokens,
        "cache_read_tokens": theirs.usage.input_tokens_details.cached_tokens,
        "cache_write_tokens": theirs.usage.input_tokens_details.cache_write_tokens,
        "reasoning_tokens": theirs.usage.output_tokens_details.reasoning_tokens,
    }
    kept: Any = ours.raw or {"output": []}
    assert [json.loads(item.to_json(exclude_unset=True)) for item in theirs.output] == kept["output"]


def test_what_we_send_is_what_the_sdk_describes() -> None:
    image = ImagePart(blob=BlobHash("p"), media_type="image/png")
    first, second = tool_call("1.1", provider_id="call_1", path="README.md"), tool_call("1.2", "grep", unparsed="{")
    raw: JsonValue = {"provider": "acme", "model": "m-1", "output": [reasoning("Think."), TEXT, READ]}
    request = asks(
        UserMessage(parts=(*PROMPT.parts, image)),
        reply_with(first, second, text="Hm.", raw=raw),
        result(first, "r", image),
        reply_with(text="Plain."),
        tools=(ToolSpec(name="read", description="Read.", parameters={"type": "object"}),),
    )
    body = encode(PROVIDER, request.model_copy(update={"images": {image.blob: b"\x89PNG"}, "cache_key": "job"}))
    checked = TypeAdapter(ResponseCreateParamsStreaming).validate_python(body)
    assert set(body) <= set(checked)


CODES = get_args(ResponseError.model_fields["code"].annotation)


def test_every_code_of_a_failure_that_the_sdk_knows_is_transient_or_final_on_purpose() -> None:
    passing = []
    for code in CODES:
        with pytest.raises(ModelError) as caught:
            read(*begun(), ended("failed", error={"code": code, "message": "no"}))
        if caught.value.fault in TRANSIENT:
            passing.append(code)
    assert sorted(passing) == ["rate_limit_exceeded", "server_error", "vector_store_timeout"]


def kinds() -> list[str]:
    union, *_ = get_args(ResponseStreamEvent)
    return [kind for one in get_args(union) for kind in get_args(one.model_fields["type"].annotation)]


ENDS = {"error", *(f"response.{kind}" for kind in ("completed", "incomplete", "failed"))}


@pytest.mark.parametrize("kind", sorted(set(kinds()) - ENDS))
def test_no_event_that_the_sdk_knows_disturbs_a_reply(kind: str) -> None:
    bare: list[Json] = [{"type": kind}, {"type": kind, "item_id": "x", "output_index": 9, "delta": ""}]
    assert read(*begun(), *bare, *whole(TEXT, READ)[2:]).calls == read(*whole(TEXT, READ)).calls


def test_events_of_tools_that_run_at_the_service_are_no_content() -> None:
    assert {"response.mcp_call_arguments.delta", "response.output_text.delta"} <= set(kinds())
    assert read(*begun(), event("mcp_call_arguments.delta", delta="x"), *whole(TEXT)[2:]).text == "Let me look: é🚀."
