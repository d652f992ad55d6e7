"""Builders of Chat Completions streams, and the shortest way to read one."""

from __future__ import annotations

import json
from collections.abc import Iterable

from pydantic import JsonValue

from kova_auto.core.ids import CallId
from kova_auto.core.message import (
    AssistantMessage,
    CallRequest,
    Message,
    ModelChunk,
    ModelReply,
    ModelRequest,
    Part,
    ResultStatus,
    TextPart,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from kova_auto.core.provider import Provider, Timeouts
from kova_auto.llm.openai_chat.decode import ChatDecoder
from kova_auto.llm.sse import SseReader

KEY = "sk-test-0123456789abcdef"
PROVIDER = Provider(name="acme", base_url="http://127.0.0.1:9/v1", api_key=KEY)
PROMPT = UserMessage(parts=(TextPart(text="Look around."),))
DONE = "[DONE]"

Chunk = dict[str, JsonValue]


def asks(*messages: Message, tools: tuple[ToolSpec, ...] = ()) -> ModelRequest:
    return ModelRequest(model="m-1", system="Be brief.", messages=messages or (PROMPT,), tools=tools)


def reply_with(*calls: ToolCall, text: str = "", raw: JsonValue = None) -> AssistantMessage:
    return AssistantMessage(text=text, calls=calls, raw=raw)


def tool_call(
    call_id: str, tool: str = "read", provider_id: str = "", unparsed: str | None = None, **args: JsonValue
) -> ToolCall:
    return ToolCall(id=CallId(call_id), tool=tool, args=args, provider_id=provider_id, unparsed=unparsed)


def result(call: ToolCall, *parts: str | Part, status: ResultStatus = ResultStatus.OK) -> ToolMessage:
    told = tuple(TextPart(text=part) if isinstance(part, str) else part for part in parts)
    return ToolMessage(call=call, status=status, parts=told)


def delta(finish: str | None = None, **fields: JsonValue) -> Chunk:
    return {
        "id": "chatcmpl-1",
        "model": "m-1-0601",
        "choices": [{"index": 0, "delta": fields, "finish_reason": finish}],
    }


def fragment(arguments: JsonValue = None, **fields: JsonValue) -> Chunk:
    name = fields.pop("name", None)
    function: Chunk = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return {**fields, "function": function}


def calls(*fragments: Chunk) -> Chunk:
    return delta(tool_calls=list(fragments))


def usage(prompt: int, completion: int, **fields: JsonValue) -> Chunk:
    return {"choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": completion, **fields}}


def sse(*chunks: Chunk | str, end: str = "\n\n", ascii_only: bool = False) -> bytes:
    texts = (chunk if isinstance(chunk, str) else json.dumps(chunk, ensure_ascii=ascii_only) for chunk in chunks)
    return "".join(f"data: {text}{end}" for text in texts).encode("utf-8", "surrogatepass")


def read_chunks(
    pieces: Iterable[bytes], provider: Provider = PROVIDER, request: ModelRequest | None = None
) -> tuple[list[ModelChunk], ModelReply]:
    reader, decoder = SseReader(), ChatDecoder(provider, request or asks())
    seen: list[ModelChunk] = []
    for piece in pieces:
        for event in reader.feed(piece):
            decoder.feed(event)
            seen += decoder.shown()
    for event in reader.close():
        decoder.feed(event)
        seen += decoder.shown()
    return seen, decoder.reply()


def read(*chunks: Chunk | str, provider: Provider = PROVIDER) -> ModelReply:
    return read_chunks([sse(*chunks)], provider)[1]


def asked(tool: str, provider_id: str = "", unparsed: str | None = None, **args: JsonValue) -> CallRequest:
    return CallRequest(tool=tool, args=args, provider_id=provider_id, unparsed=unparsed)


def quick(**seconds: float) -> Timeouts:
    return Timeouts(**{"connect_s": 60, "first_token_s": 60, "idle_s": 60, **seconds})
