"""Each recorded stream, cut at every byte: an answer only where the response had ended, and never half a call."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy

import pytest

from kova_auto.core.errors import ModelError, ModelUnavailableError
from kova_auto.core.fault import Fault
from kova_auto.core.message import ModelReply
from kova_auto.core.stop_reason import StopReason
from kova_auto.llm.openai_responses.decode import ResponsesDecoder
from kova_auto.llm.sse import SseEvent, SseReader
from tests.llm.chat_stream import PROVIDER, asks
from tests.llm.responses_stream import (
    Json,
    begun,
    completed,
    ended,
    function_call,
    message,
    read,
    reasoning,
    refused_part,
    response,
    said,
    sse,
    told,
    whole,
)

TEXT, THOUGHT = message(said("Hi é🚀.")), reasoning("Hm.")
READ, WRITE = function_call('{"path":"a"}'), function_call('{"text":"é"}', "write", 2)
CUT = function_call('{"text":"half a', "write", status="incomplete")
REQUEST = asks()
RECORDED: dict[str, list[Json]] = {
    "text": whole(TEXT),
    "calls": whole(THOUGHT, TEXT, READ, WRITE),
    "calls, no list at the end": [*begun(), *told(READ), *told(WRITE, 1), completed(output=[])],
    "cut by its limit": [
        *begun(),
        *told(READ),
        *told(CUT, 1),
        ended("incomplete", READ, CUT, incomplete_details={"reason": "max_output_tokens"}),
    ],
    "a refusal": whole(message(refused_part("No.")), READ),
    "a failure": [*begun(), *told(READ), ended("failed", error={"code": "server_error", "message": "no"})],
}


def brief(one: Json) -> Json:
    """Leave out what a response repeats of its request: every byte is one more cut."""
    body = one.get("response")
    if not isinstance(body, dict):
        return one
    needed = ("id", "object", "status", "model", "error", "incomplete_details", "output", "usage")
    return {**one, "response": {key: body[key] for key in needed}}


def cuts(stream: bytes) -> Iterator[tuple[int, ModelReply | ModelError]]:
    """Yield what a stream gives that ends after each of its bytes; the one that was not cut is the last."""
    reader, decoder, begin = SseReader(), ResponsesDecoder(PROVIDER, REQUEST), 0
    for end in range(len(stream) + 1):
        try:
            for one in reader.feed(stream[end - 1 : end]):
                begin = end
                decoder.feed(one)
            yield end, ended_there(decoder, stream[begin:end])
        except ModelError as exc:
            yield end, exc


def ended_there(decoder: ResponsesDecoder, torn: bytes) -> ModelReply | ModelError:
    """Read as the client does: what the end of the stream completes is read too."""
    reader = SseReader()
    reader.feed(torn)
    events = reader.close() or ([SseEvent("", reader.stray)] if reader.stray else [])
    last = deepcopy(decoder) if any(is_json(one.data) for one in events) else decoder  # No JSON changes nothing.
    try:
        for one in events:
            last.feed(one)
        return last.reply()
    except ModelError as exc:
        return exc


def is_json(text: str) -> bool:
    with suppress(ValueError):
        json.loads(text)
        return True
    return False


def end_of(stream: bytes) -> int:
    """Return where the last event is complete, its line end and the blank line after it not needed."""
    return len(stream.rstrip())


@pytest.mark.parametrize(
    ("name", "line_end"), [*((name, "\n") for name in RECORDED), ("calls", "\r\n"), ("calls", "\r")]
)
def test_a_stream_that_ends_at_any_byte_is_whole_or_no_reply(name: str, line_end: str) -> None:
    stream = sse(*map(brief, RECORDED[name]), end=line_end)
    *found, (_, whole_reply) = cuts(stream)
    for end, reply in found:
        if end >= end_of(stream) and isinstance(whole_reply, ModelReply):
            assert reply == whole_reply
        else:
            assert isinstance(reply, ModelUnavailableError)
            assert end >= end_of(stream) or reply.fault in (Fault.TRUNCATED, Fault.MALFORMED)
    assert isinstance(whole_reply, ModelReply) == (name != "a failure")


@pytest.mark.parametrize("name", ["cut by its limit", "a refusal"])
def test_a_cut_reply_holds_no_call_to_execute(name: str) -> None:
    reply = read(*RECORDED[name])
    assert reply.stop in (StopReason.LENGTH, StopReason.REFUSED)
    assert reply.calls
    assert all(call.unparsed is not None for call in reply.calls)


@pytest.mark.parametrize("indent", [None, 1])
def test_one_body_that_ends_at_any_byte_is_whole_or_no_reply(indent: int | None) -> None:
    body = json.dumps(response("completed", THOUGHT, TEXT, READ), indent=indent, ensure_ascii=False)
    *found, (_, whole_reply) = cuts(body.encode())
    assert isinstance(whole_reply, ModelReply)
    assert {type(reply) for _, reply in found} == {ModelUnavailableError}
