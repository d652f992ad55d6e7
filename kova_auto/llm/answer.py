"""Read the body of an HTTP answer: as a stream's events, or as one text; bounded, and each wait on the clock."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Final, Protocol

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


class Body(Protocol):
    """Hold what is read of an answer; whoever asked for it closes it.

    Attributes:
        headers: Names in lower case.
    """

    headers: dict[str, str]

    @property
    def is_over(self) -> bool:
        """Say whether all of it has been given, as far as that is known."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Give the bytes as they come."""


class Pieces:
    """Read one answer's body, unpacked, piece by piece."""

    def __init__(self, answer: Body, clock: Waiting, most: int) -> None:
        """Begin to read.

        Args:
            answer: Whose body it is.
            clock: What each wait is on.
            most: Bytes that the body may have.

        Raises:
            EncodingError: It is packed in a way that we do not read.
        """
        self._clock, self._most, self._total = clock, most, 0
        self._unpack = plain(answer.headers.get("content-encoding", ""))
        self._raw = aiter(answer)
        self._parts: Iterator[bytes] = iter(())

    def __aiter__(self) -> Pieces:
        return self

    async def __anext__(self) -> bytes:
        while (part := next(self._parts, None)) is None:
            self._parts = self._unpack(await self._clock.wait(anext(self._raw)))
        self._total += len(part)
        if self._total > self._most:
            msg = f"the answer is larger than {self._most:,} bytes"
            raise EventTooLargeError(msg)
        return part


class Events:
    """Read a stream's events, those that came together at once, until there is nothing more to come."""

    def __init__(self, answer: Body, decoder: Decoder, clock: Waiting) -> None:
        """Begin to read; the decoder, which is fed elsewhere, says when the stream is over."""
        self._pieces = Pieces(answer, clock, MAX_ANSWER_BYTES)
        self._answer, self._decoder, self._clock = answer, decoder, clock
        self._reader, self._over = SseReader(), False

    def __aiter__(self) -> Events:
        return self

    async def __anext__(self) -> list[SseEvent]:
        if self._over or self._decoder.closed:
            await self._drain()
            raise StopAsyncIteration
        if self._decoder.ended:
            self._clock.shorten(AFTER_END_S)
        try:
            return self._reader.feed(await anext(self._pieces))
        except StopAsyncIteration:
            self._over = True
            return last_events(self._reader)
        except (TimeoutError, httpx.TransportError):
            if self._decoder.ended:
                raise StopAsyncIteration from None  # The reply is whole; only bookkeeping is missing.
            raise

    async def _drain(self) -> None:
        """Read on to the end of a body that is over."""
        if self._over or self._answer.is_over:
            return
        self._clock.shorten(DRAIN_S)
        with suppress(StopAsyncIteration, TimeoutError, httpx.TransportError, EncodingError):
            await anext(self._pieces)  # Where it goes on, its connection is not used again.


def last_events(reader: SseReader) -> list[SseEvent]:
    """Return what the stream's end completes: an event, or one JSON body instead of a stream; never a torn one."""
    found = reader.close()
    if not found and reader.stray:
        return [SseEvent("", reader.stray)]
    return [event for event in found if event.data.strip() == _DONE or parsed(event.data) is not None]


async def text_of(answer: Body, clock: Waiting) -> str:
    """Return a body that was asked for.

    Raises:
        EventTooLargeError: It is larger than `MAX_TEXT_BYTES`.
    """
    return b"".join([piece async for piece in Pieces(answer, clock, MAX_TEXT_BYTES)]).decode("utf-8", "replace")


async def complaint_of(answer: Body, clock: Waiting) -> str:
    """Return the body of a refusal, at most `MAX_ERROR_BYTES` of it, as far as it came."""
    kept = b""
    try:
        async for piece in Pieces(answer, clock, MAX_ANSWER_BYTES):
            kept = (kept + piece)[:MAX_ERROR_BYTES]
            if len(kept) == MAX_ERROR_BYTES:
                break
    except (TimeoutError, httpx.TransportError, EncodingError):
        pass  # What came is enough to tell by.
    return kept.decode("utf-8", "replace")


def parsed(text: str) -> JsonValue:
    """Return a text's JSON value; None where it is none."""
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value
