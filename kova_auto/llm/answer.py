"""Read the body of an HTTP answer: as a stream's events, or as one text; bounded, and each wait on the clock."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

import httpx
from pydantic import JsonValue

from kova_auto.llm.body import EncodingError, plain
from kova_auto.llm.sse import EventTooLargeError, SseEvent, SseReader
from kova_auto.llm.waiting import Waiting
from kova_auto.llm.wire import Decoder

MAX_ERROR_BYTES: Final = 65_536
MAX_TEXT_BYTES: Final = 16 * 1024 * 1024
MAX_ANSWER_BYTES: Final = 256 * 1024 * 1024
AFTER_END_S: Final = 5.0  # for the count of tokens that may follow a finish reason
DRAIN_S: Final = 0.2  # for the end of a body that is over, so that its connection can be used again
_DONE: Final = "[DONE]"


async def events(answer: httpx.Response, decoder: Decoder, clock: Waiting) -> AsyncGenerator[list[SseEvent], None]:
    """Yield the events that came together, until there is nothing more to come."""
    reader = SseReader()
    async with aclosing(_pieces(answer, clock, MAX_ANSWER_BYTES)) as pieces:
        while not decoder.closed:
            try:
                piece = await anext(pieces, None)
            except (TimeoutError, httpx.TransportError):
                if decoder.ended:
                    return  # The reply is whole; only bookkeeping is missing.
                raise
            if piece is None:
                yield last_events(reader)
                return
            yield reader.feed(piece)
            if decoder.ended:
                clock.shorten(AFTER_END_S)
        await _drain(pieces, clock)


def last_events(reader: SseReader) -> list[SseEvent]:
    """Return what the stream's end completes: an event, or one JSON body instead of a stream; never a torn one."""
    found = reader.close()
    if not found and reader.stray:
        return [SseEvent("", reader.stray)]
    return [event for event in found if event.data.strip() == _DONE or parsed(event.data) is not None]


async def _drain(pieces: AsyncGenerator[bytes, None], clock: Waiting) -> None:
    clock.shorten(DRAIN_S)
    try:
        await anext(pieces, None)
    except (TimeoutError, httpx.TransportError, EncodingError):
        return  # Then the connection is not used again.


async def text_of(answer: httpx.Response, clock: Waiting) -> str:
    """Return a body that was asked for.

    Raises:
        EventTooLargeError: It is larger than `MAX_TEXT_BYTES`.
    """
    async with aclosing(_pieces(answer, clock, MAX_TEXT_BYTES)) as pieces:
        return b"".join([piece async for piece in pieces]).decode("utf-8", "replace")


async def complaint_of(answer: httpx.Response, clock: Waiting) -> str:
    """Return the body of a refusal, at most `MAX_ERROR_BYTES` of it, as far as it came."""
    kept = b""
    try:
        async with aclosing(_pieces(answer, clock, MAX_ANSWER_BYTES)) as pieces:
            async for piece in pieces:
                kept = (kept + piece)[:MAX_ERROR_BYTES]
                if len(kept) == MAX_ERROR_BYTES:
                    break
    except (TimeoutError, httpx.TransportError, EncodingError):
        pass  # What came is enough to tell by.
    return kept.decode("utf-8", "replace")


async def _pieces(answer: httpx.Response, clock: Waiting, most: int) -> AsyncGenerator[bytes, None]:
    unpack = plain(answer.headers.get("content-encoding", ""))
    total = 0
    raw = answer.aiter_raw()
    while (piece := await clock.wait(anext(raw, None))) is not None:
        for part in unpack(piece):
            total += len(part)
            if total > most:
                msg = f"the answer is larger than {most:,} bytes"
                raise EventTooLargeError(msg)
            yield part


def parsed(text: str) -> JsonValue:
    """Return a text's JSON value; None where it is none."""
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value
