"""The provider's own SDK reads the same bytes as we do, and takes what we write for its own requests."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import anthropic
import httpx2
import pytest
from anthropic.types import (
    ImageBlockParam,
    RedactedThinkingBlockParam,
    TextBlockParam,
    ThinkingBlockParam,
    ToolResultBlockParam,
    ToolUseBlockParam,
)
from anthropic.types import Message as SdkMessage
from anthropic.types import Usage as SdkUsage
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ConfigDict, JsonValue, TypeAdapter

from kova_auto.core.ids import BlobHash, CallId
from kova_auto.core.message import (
    AssistantMessage,
    CallRequest,
    ImagePart,
    Message,
    ModelReply,
    ResultStatus,
    ToolCall,
    ToolSpec,
    Usage,
)
from kova_auto.core.stop_reason import StopReason
from kova_auto.llm.anthropic_messages.encode import encode
from tests.llm.chat_stream import PROMPT, asks, result
from tests.llm.messages_stream import (
    CLAUDE,
    RECORDED,
    Event,
    answered,
    begins,
    call,
    ends,
    sse,
    text,
    thinking,
    told,
)

STREAMS = ("text", "thinking-tools", "search-pause", "empty")
CUT = ("refusal", "cut-call")
PNG = ImagePart(blob=BlobHash("p"), media_type="image/png")
STOPS = {
    "end_turn": StopReason.END,
    "stop_sequence": StopReason.END,
    "tool_use": StopReason.TOOL_CALLS,
    "pause_turn": StopReason.PAUSED,
    "max_tokens": StopReason.LENGTH,
    "refusal": StopReason.REFUSED,
}


def sdk_client(answer: bytes, kind: str = "text/event-stream") -> anthropic.Anthropic:
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, headers={"content-type": kind}, content=answer))
    return anthropic.Anthropic(api_key="key", max_retries=0, http_client=httpx2.Client(transport=transport))


def read_by_sdk(stream: bytes) -> SdkMessage:
    with sdk_client(stream) as client:
        asked = client.messages.stream(model="m-1", max_tokens=9, messages=[{"role": "user", "content": "x"}])
        with asked as opened:
            return opened.get_final_message()


def ours(stream: bytes) -> ModelReply:
    return asyncio.run(answered(stream))


def counted(usage: SdkUsage) -> Usage:
    read, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
    details = usage.output_tokens_details
    return Usage(
        input_tokens=usage.input_tokens + read + written,
        output_tokens=usage.output_tokens,
        cache_read_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=details.thinking_tokens if details else 0,
    )


def exchange(number: int, reply: ModelReply) -> list[Message]:
    calls = tuple(
        ToolCall(id=CallId(f"{number}.{at}"), **request.model_dump()) for at, request in enumerate(reply.calls)
    )
    return [AssistantMessage(text=reply.text, calls=calls, raw=reply.raw), *(result(made, "r") for made in calls)]


def given_back(reply: ModelReply) -> list[Any]:
    sent: Any = encode(CLAUDE, asks(PROMPT, *exchange(1, reply)))["messages"]
    return list(json.loads(json.dumps(sent[1]["content"]))) if len(sent) > 1 else []


def assert_read_alike(stream: bytes) -> None:
    reply, message = ours(stream), read_by_sdk(stream)
    blocks = message.to_dict()["content"]
    assert given_back(reply) == blocks
    assert (reply.stop, reply.usage) == (STOPS[str(message.stop_reason)], counted(message.usage))
    assert (reply.model, reply.request_id) == (f"anthropic/{message.model}", message.id)
    assert reply.calls == tuple(
        CallRequest(tool=block.name, args=json.loads(json.dumps(block.input)), provider_id=block.id)
        for block in message.content
        if block.type == "tool_use"
    )
    written = "".join(block.text for block in message.content if block.type == "text")
    assert reply.text.replace("\n\n", "") == written.replace("\n\n", "")


@pytest.mark.parametrize("name", STREAMS)
def test_the_sdk_reads_what_we_read_and_it_goes_back_as_it_came(name: str) -> None:
    assert_read_alike(RECORDED[name])


@pytest.mark.parametrize("name", CUT)
def test_the_sdk_reads_the_same_end_of_a_reply_that_was_cut(name: str) -> None:
    reply, message = ours(RECORDED[name]), read_by_sdk(RECORDED[name])
    details = message.stop_details
    assert (reply.stop, reply.usage) == (STOPS[str(message.stop_reason)], counted(message.usage))
    assert reply.stop_detail == (f"{details.category}: {details.explanation}" if details else "")
    assert [made.provider_id for made in reply.calls] == [b.id for b in message.content if b.type == "tool_use"]
    assert all(made.unparsed is not None for made in reply.calls)


def test_the_sdk_reads_one_whole_body_as_we_do() -> None:
    with sdk_client(RECORDED["whole"], "application/json") as client:
        message = client.messages.create(model="m-1", max_tokens=9, messages=[{"role": "user", "content": "x"}])
    reply = ours(RECORDED["whole"])
    assert given_back(reply) == message.to_dict()["content"]
    assert (reply.stop, reply.usage) == (STOPS[str(message.stop_reason)], counted(message.usage))


def test_the_sdk_is_told_of_the_same_error_inside_a_stream() -> None:
    with pytest.raises(anthropic.APIStatusError, match="overloaded_error"):
        read_by_sdk(RECORDED["overloaded"])


_WORDS = st.sampled_from(["a", "é🚀", "two words", "\n- x"])
_ARGS = st.dictionaries(_WORDS, st.one_of(_WORDS, st.integers(-9, 9), st.booleans(), st.none()), max_size=3)


def _blocks(index: int, kind: str, words: list[str], args: dict[str, JsonValue]) -> list[Event]:
    match kind:
        case "text":
            return text(index, *words)
        case "thinking":
            return thinking(index, "".join(words))
        case _:
            written = json.dumps(args, ensure_ascii=len(words) == 1)
            middle = len(written) // 2
            return call(index, written[:middle], written[middle:], own=f"toolu_{index}")


@settings(deadline=None, max_examples=30)
@given(
    st.lists(
        st.tuples(st.sampled_from(["text", "thinking", "call"]), st.lists(_WORDS, min_size=1, max_size=3), _ARGS),
        min_size=1,
        max_size=5,
    ).filter(lambda blocks: any(kind != "thinking" for kind, *_ in blocks)),
    st.booleans(),
)
def test_the_sdk_reads_any_reply_as_we_do(blocks: list[tuple[str, list[str], Any]], ascii_only: bool) -> None:
    made = [_blocks(index, *block) for index, block in enumerate(blocks)]
    stop = "tool_use" if any(kind == "call" for kind, *_ in blocks) else "end_turn"
    events = told(begins(), *made, ends(stop, output_tokens=70, cache_read_input_tokens=8))
    assert_read_alike(sse(events, ascii_only=ascii_only))


_STRICT = ConfigDict(extra="forbid")
_BODY = TypeAdapter(list[MessageCreateParamsStreaming], config=_STRICT)
_BLOCKS: dict[str, TypeAdapter[Any]] = {
    "text": TypeAdapter(list[TextBlockParam], config=_STRICT),
    "image": TypeAdapter(list[ImageBlockParam], config=_STRICT),
    "tool_use": TypeAdapter(list[ToolUseBlockParam], config=_STRICT),
    "tool_result": TypeAdapter(list[ToolResultBlockParam], config=_STRICT),
    "thinking": TypeAdapter(list[ThinkingBlockParam], config=_STRICT),
    "redacted_thinking": TypeAdapter(list[RedactedThinkingBlockParam], config=_STRICT),
}


def consumed(value: object) -> object:
    """Walk through what is validated only when it is asked for."""
    match value:
        case dict():
            return {key: consumed(item) for key, item in value.items()}
        case str() | bytes() | int() | float() | None:
            return value
        case _ if hasattr(value, "__iter__"):
            return [consumed(item) for item in value]
        case _:
            return value


def test_the_sdks_types_take_a_conversation_of_every_recorded_reply() -> None:
    replies = [ours(RECORDED[name]) for name in (*STREAMS, "gateway", "cut-call", "whole")]
    messages: list[Message] = [PROMPT]
    for number, reply in enumerate(replies):
        messages += [*exchange(number, reply), PROMPT]
    failing = ToolCall(id=CallId("9.1"), tool="read")
    messages += [AssistantMessage(text="I look.", calls=(failing,)), result(failing, PNG, status=ResultStatus.ERROR)]
    tool = ToolSpec(name="read", description="Read.", parameters={"properties": {"path": {"type": "string"}}})
    request = asks(*messages, tools=(tool,)).model_copy(update={"images": {PNG.blob: b"\x89PNG"}})
    body: Any = encode(CLAUDE, request)
    for message in body["messages"]:  # What only a gateway knows, the SDK does not.
        message["content"] = [block for block in message["content"] if block["type"] != "aside"]
    assert consumed(_BODY.validate_python([body]))
    blocks = [block for message in body["messages"] for block in message["content"]]
    assert {block["type"] for block in blocks} == set(_BLOCKS) | {"server_tool_use", "web_search_tool_result"}
    for block in blocks:
        if adapter := _BLOCKS.get(block["type"]):
            assert consumed(adapter.validate_python([block]))
