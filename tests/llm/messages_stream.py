"""Builders of Messages streams, the recorded ones, and the shortest way to read one."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

from pydantic import JsonValue

from kova_auto.core.message import ModelChunk, ModelReply, ModelRequest
from kova_auto.core.provider import BUILT_IN, Provider
from kova_auto.llm.answer import Events
from kova_auto.llm.anthropic_messages.decode import MessagesDecoder
from kova_auto.llm.sse import SseReader
from kova_auto.llm.waiting import Waiting
from tests.llm.chat_stream import KEY, asks, quick

CLAUDE = BUILT_IN["anthropic"].model_copy(update={"api_key": KEY})
RECORDED = {
    path.stem.removeprefix("messages-"): path.read_bytes() for path in Path(__file__).parent.glob("streams/messages-*")
}

Event = dict[str, JsonValue]


def begins(input_tokens: int = 12, output_tokens: int = 1, **usage: JsonValue) -> Event:
    counted: Event = {"input_tokens": input_tokens, "output_tokens": output_tokens, **usage}
    return {"type": "message_start", "message": {"id": "msg_1", "model": "m-1-0601", "content": [], "usage": counted}}


def opens(index: int, kind: str, **fields: JsonValue) -> Event:
    return {"type": "content_block_start", "index": index, "content_block": {"type": kind, **fields}}


def grows(index: int, kind: str, **fields: JsonValue) -> Event:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def closes(index: int) -> Event:
    return {"type": "content_block_stop", "index": index}


def text(index: int, *pieces: str) -> list[Event]:
    deltas = [grows(index, "text_delta", text=piece) for piece in pieces]
    return [opens(index, "text", text=""), *deltas, closes(index)]


def thinking(index: int, thought: str, signature: str = "sig") -> list[Event]:
    signed = [grows(index, "signature_delta", signature=signature)] if signature else []
    told = [opens(index, "thinking", thinking="", signature=""), grows(index, "thinking_delta", thinking=thought)]
    return [*told, *signed, closes(index)]


def call(index: int, *pieces: str, name: str = "read", own: str = "toolu_1", given: JsonValue = None) -> list[Event]:
    start = opens(index, "tool_use", id=own, name=name, input={} if given is None else given)
    return [start, *(grows(index, "input_json_delta", partial_json=piece) for piece in pieces), closes(index)]


def ends(stop: str | None = "end_turn", output_tokens: int = 9, **usage: JsonValue) -> list[Event]:
    counted: Event = {"output_tokens": output_tokens, **usage}
    return [{"type": "message_delta", "delta": {"stop_reason": stop}, "usage": counted}, {"type": "message_stop"}]


def sse(events: Iterable[Event], *, ascii_only: bool = False) -> bytes:
    lines = (f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=ascii_only)}\n\n" for event in events)
    return "".join(lines).encode("utf-8", "surrogatepass")


def told(*events: Event | list[Event]) -> list[Event]:
    return [part for event in events for part in (event if isinstance(event, list) else [event])]


def read_chunks(
    pieces: Iterable[bytes], provider: Provider = CLAUDE, request: ModelRequest | None = None
) -> tuple[list[ModelChunk], ModelReply]:
    reader, decoder = SseReader(), MessagesDecoder(provider, request or asks())
    events = [event for piece in pieces for event in reader.feed(piece)]
    seen: list[ModelChunk] = []
    for event in (*events, *reader.close()):
        decoder.feed(event)
        seen += decoder.shown()
    return seen, decoder.reply()


async def answered(*pieces: bytes) -> ModelReply:
    """Read the body of an answer as the client does."""
    decoder = MessagesDecoder(CLAUDE, asks())
    async for events in Events(_Body(pieces), decoder, Waiting(quick())):
        for event in events:
            decoder.feed(event)
    return decoder.reply()


class _Body:
    is_over = False

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = pieces
        self.headers: dict[str, str] = {}

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece


def read(*events: Event | list[Event], provider: Provider = CLAUDE) -> ModelReply:
    return read_chunks([sse(told(*events))], provider)[1]
