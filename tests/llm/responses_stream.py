"""Builders of Responses streams with every field that the real service sends, and the shortest way to read one."""

from __future__ import annotations

import json
from collections.abc import Iterable

from pydantic import JsonValue

from kova_auto.core.message import ModelChunk, ModelReply, ModelRequest
from kova_auto.core.provider import Provider
from kova_auto.llm.openai_responses.decode import ResponsesDecoder
from kova_auto.llm.sse import SseEvent, SseReader
from tests.llm.chat_stream import PROVIDER, asks

Json = dict[str, JsonValue]


def message(*parts: Json, status: str = "completed", **fields: JsonValue) -> Json:
    return {"id": "msg_1", "type": "message", "status": status, "role": "assistant", "content": [*parts], **fields}


def said(text: str) -> Json:
    return {"type": "output_text", "annotations": [], "logprobs": [], "text": text}


def refused_part(text: str) -> Json:
    return {"type": "refusal", "refusal": text}


def function_call(arguments: JsonValue, name: str = "read", number: int = 1, **fields: JsonValue) -> Json:
    ids = {"id": f"fc_{number}", "call_id": f"call_{number}"}
    return {"type": "function_call", "status": "completed", "arguments": arguments, **ids, "name": name, **fields}


def reasoning(summary: str = "", encrypted: str | None = "gAAAA", number: int = 1, **fields: JsonValue) -> Json:
    parts: list[JsonValue] = [{"type": "summary_text", "text": summary}] if summary else []
    return {"id": f"rs_{number}", "type": "reasoning", "encrypted_content": encrypted, "summary": parts, **fields}


def usage(given: int, made: int, cached: int = 0, written: int = 0, thought: int = 0) -> Json:
    return {
        "input_tokens": given,
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": written},
        "output_tokens": made,
        "output_tokens_details": {"reasoning_tokens": thought},
        "total_tokens": given + made,
    }


def response(status: str, /, *output: Json, **fields: JsonValue) -> Json:
    body: Json = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1_790_000_000,
        "status": status,
        "background": False,
        "error": None,
        "incomplete_details": None,
        "instructions": "Be brief.",
        "max_output_tokens": None,
        "model": "m-1-0601",
        "output": [*output],
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": {"effort": "medium", "summary": None},
        "store": False,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": None,
        "metadata": {},
    }
    return {**body, **fields}


def event(kind: str, **fields: JsonValue) -> Json:
    return {"type": f"response.{kind}", **fields}


def begun() -> list[Json]:
    return [event(kind, response=response("in_progress")) for kind in ("created", "in_progress")]


def ended(kind: str, /, *output: Json, **fields: JsonValue) -> Json:
    return event(kind, response=response(kind, *output, **{"usage": usage(120, 30), **fields}))


def completed(*output: Json, **fields: JsonValue) -> Json:
    return ended("completed", *output, **fields)


def pieces(text: str, size: int = 5) -> Iterable[str]:
    return (text[at : at + size] for at in range(0, len(text), size))


def told(item: Json, index: int = 0) -> list[Json]:
    """Every event that the service sends for one item."""
    at: Json = {"output_index": index}
    of: Json = {**at, "item_id": item["id"]}
    opened: Json = {**item, "status": "in_progress"}
    match item["type"]:
        case "message":
            opened["content"] = []
            between = [part for n, entry in enumerate(_list(item["content"])) for part in _content(of, n, entry)]
        case "function_call":
            opened["arguments"] = ""
            between = _written(of, "function_call_arguments", "arguments", item)
        case "custom_tool_call":
            opened["input"] = ""
            between = _written(of, "custom_tool_call_input", "input", item)
        case "reasoning":
            opened = {**item, "encrypted_content": "gAAAA-not-all", "summary": []}
            between = [part for n, entry in enumerate(_list(item["summary"])) for part in _summary(of, n, entry)]
        case kind:
            between = [event(f"{kind}.searching", **of)]
    done = event("output_item.done", **at, item=item)
    return [event("output_item.added", **at, item=opened), *between, done]


def _list(value: JsonValue) -> list[Json]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _content(of: Json, number: int, part: Json) -> list[Json]:
    kind = str(part["type"])
    key = "refusal" if kind == "refusal" else "text"
    here: Json = {**of, "content_index": number}
    more: Json = {} if kind == "refusal" else {"logprobs": []}
    deltas = [event(f"{kind}.delta", **here, **more, delta=text) for text in pieces(str(part[key]))]
    return [
        event("content_part.added", **here, part={**part, key: ""}),
        *deltas,
        event(f"{kind}.done", **here, **more, **{key: part[key]}),
        event("content_part.done", **here, part=part),
    ]


def _summary(of: Json, number: int, part: Json) -> list[Json]:
    here: Json = {**of, "summary_index": number}
    return [
        event("reasoning_summary_part.added", **here, part={**part, "text": ""}),
        *(event("reasoning_summary_text.delta", **here, delta=text) for text in pieces(str(part["text"]))),
        event("reasoning_summary_text.done", **here, text=part["text"]),
        event("reasoning_summary_part.done", **here, part=part),
    ]


def _written(of: Json, kind: str, key: str, item: Json) -> list[Json]:
    deltas = [event(f"{kind}.delta", **of, delta=text, obfuscation="aB3") for text in pieces(str(item[key]))]
    return [*deltas, event(f"{kind}.done", **of, **{key: item[key]})]


def whole(*items: Json, **fields: JsonValue) -> list[Json]:
    """A response that holds these items and completes."""
    return [*begun(), *(one for n, item in enumerate(items) for one in told(item, n)), completed(*items, **fields)]


def sse(*events: Json | str, end: str = "\n", ascii_only: bool = False) -> bytes:
    lines: list[str] = []
    for number, one in enumerate(events):
        if isinstance(one, str):
            lines += [f"data: {one}", ""]
            continue
        text = json.dumps({**one, "sequence_number": number}, ensure_ascii=ascii_only, separators=(",", ":"))
        lines += [f"event: {one['type']}", f"data: {text}", ""]
    return "".join(line + end for line in lines).encode("utf-8", "surrogatepass")


def events_in(stream: bytes) -> list[SseEvent]:
    reader = SseReader()
    return [*reader.feed(stream), *reader.close()]


def read_stream(
    stream: bytes, provider: Provider = PROVIDER, request: ModelRequest | None = None
) -> tuple[list[ModelChunk], ModelReply]:
    decoder = ResponsesDecoder(provider, request or asks())
    seen: list[ModelChunk] = []
    for one in events_in(stream):
        decoder.feed(one)
        seen += decoder.shown()
    return seen, decoder.reply()


def read(*events: Json | str, request: ModelRequest | None = None) -> ModelReply:
    return read_stream(sse(*events), request=request)[1]
