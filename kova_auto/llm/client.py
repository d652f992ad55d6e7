"""Carry one protocol's requests over HTTP, and nothing else: no retry, no redirect, no cookie, no log line.

httpx's transport is used without its client, which would add all of that.
"""

from __future__ import annotations

import asyncio
import json
import os
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager
from typing import Final

import certifi
import httpx
from pydantic import JsonValue

from kova_auto import __version__
from kova_auto.core.errors import ModelError, ModelRefusedError, ModelUnavailableError
from kova_auto.core.message import ModelChunk, ModelRequest, ReplyDone
from kova_auto.core.provider import Provider
from kova_auto.llm.body import EncodingError, plain
from kova_auto.llm.faults import Problem, failure_of, problem_in
from kova_auto.llm.retry_after import retry_after_s
from kova_auto.llm.sse import EventTooLargeError, SseEvent, SseReader
from kova_auto.llm.waiting import Waiting
from kova_auto.llm.wire import Decoder, Wire

MAX_ERROR_BYTES: Final = 65_536
MAX_ANSWER_BYTES: Final = 256 * 1024 * 1024
AFTER_END_S: Final = 5.0  # for the count of tokens that may follow a finish reason
DRAIN_S: Final = 0.2  # for the end of a body that is over, so that its connection can be used again


class HttpModel:
    """Speak to one provider over connections that it keeps; use it in one event loop, and close it there."""

    def __init__(self, provider: Provider, wire: Wire) -> None:
        """Prepare; nothing is opened before the first call."""
        self._provider, self._wire = provider, wire
        self._slots = asyncio.Semaphore(provider.max_concurrent)
        self._opened: httpx.AsyncHTTPTransport | None = None

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelChunk, None]:
        """Yield the reply as it arrives; the last chunk is `ReplyDone`.

        Raises:
            ModelError: There is no whole reply.
        """
        decoder = self._wire.decoder(self._provider, request)
        clock = Waiting(self._provider.timeouts)
        async with self._slots, self._answer(request, clock) as answer:
            async with aclosing(_events(answer, decoder, clock)) as events:
                async for event in events:
                    before = decoder.progress
                    for chunk in decoder.feed(event):
                        yield chunk
                    if decoder.progress > before:
                        clock.progressed()
            reply = decoder.reply(answer.headers.get("x-request-id", ""))
        yield ReplyDone(reply=reply)

    async def aclose(self) -> None:
        """Close the connections; safe to call twice."""
        if self._opened is not None:
            await self._opened.aclose()
            self._opened = None

    @asynccontextmanager
    async def _answer(self, request: ModelRequest, clock: Waiting) -> AsyncIterator[httpx.Response]:
        name = self._provider.name
        answer: httpx.Response | None = None
        try:
            answer = await clock.wait(self._transport.handle_async_request(self._request(request)))
            if not answer.is_success:
                raise await self._refusal(answer, clock)
            yield answer
        except TimeoutError:
            msg = f"{name} {clock.complaint}"
            raise ModelUnavailableError(msg) from None
        except (httpx.LocalProtocolError, httpx.UnsupportedProtocol, httpx.InvalidURL):
            msg = f"{name} at {self._provider.place} cannot be asked like this: check its base_url and headers"
            raise ModelRefusedError(msg) from None  # The cause quotes headers, and one of them holds the key.
        except (httpx.TransportError, EventTooLargeError, EncodingError) as exc:
            msg = f"{name} at {self._provider.place}: {_said(exc)}"
            raise ModelUnavailableError(msg) from exc
        finally:
            if answer is not None:
                await answer.aclose()

    @property
    def _transport(self) -> httpx.AsyncHTTPTransport:
        if self._opened is None:
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=16, keepalive_expiry=30)
            tls = _tls_context(self._provider)
            self._opened = httpx.AsyncHTTPTransport(verify=tls, trust_env=False, limits=limits)
        return self._opened

    def _request(self, request: ModelRequest) -> httpx.Request:
        body = json.dumps(self._wire.encode(self._provider, request), ensure_ascii=False)
        headers = {
            "user-agent": f"kova-auto/{__version__}",
            "accept": "text/event-stream",
            "accept-encoding": "identity",
            "content-type": "application/json",
            **self._wire.headers(self._provider),
            **{key.lower(): value for key, value in self._provider.headers.items()},
        }
        waits = {"connect": self._provider.timeouts.connect_s, "read": None, "write": None, "pool": None}
        return httpx.Request(
            "POST",
            self._provider.url(self._wire.path),
            headers=headers,
            content=body.encode("utf-8", "replace"),
            extensions={"timeout": waits},
        )

    async def _refusal(self, answer: httpx.Response, clock: Waiting) -> ModelError:
        status, kept = answer.status_code, b""
        if 300 <= status < 400:
            return failure_of(self._provider, Problem("it has moved: check its base_url"), status)
        try:
            async with aclosing(_pieces(answer, clock)) as pieces:
                async for piece in pieces:
                    kept = (kept + piece)[:MAX_ERROR_BYTES]
                    if len(kept) == MAX_ERROR_BYTES:
                        break
        except (TimeoutError, httpx.TransportError, EncodingError):
            pass  # What came is enough to tell by.
        text = kept.decode("utf-8", "replace")
        problem = problem_in(_parsed(text)) or Problem("a page of HTML" if text.lstrip().startswith("<") else text)
        return failure_of(self._provider, problem, status, retry_after_s(answer.headers))


async def _events(answer: httpx.Response, decoder: Decoder, clock: Waiting) -> AsyncGenerator[SseEvent, None]:
    """Yield the stream's events until there is nothing more to come."""
    reader = SseReader()
    async with aclosing(_pieces(answer, clock)) as pieces:
        while not decoder.closed:
            try:
                piece = await anext(pieces, None)
            except (TimeoutError, httpx.TransportError):
                if decoder.ended:
                    return  # The reply is whole; only bookkeeping is missing.
                raise
            if piece is None:
                for event in _last(reader, decoder):
                    yield event
                return
            for event in reader.feed(piece):
                yield event
            if decoder.ended:
                clock.shorten(AFTER_END_S)
        await _drain(pieces, clock)


def _last(reader: SseReader, decoder: Decoder) -> list[SseEvent]:
    """Return what the stream's end completes: an event, or one JSON body instead of a stream."""
    events = reader.close()
    if decoder.ended:  # Then a torn piece is bookkeeping that was cut off.
        return [event for event in events if _parsed(event.data) is not None]
    return events or ([SseEvent("", reader.stray)] if reader.stray else [])


def _parsed(text: str) -> JsonValue:
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value


async def _drain(pieces: AsyncGenerator[bytes, None], clock: Waiting) -> None:
    clock.shorten(DRAIN_S)
    try:
        await anext(pieces, None)
    except (TimeoutError, httpx.TransportError, EncodingError):
        return  # Then the connection is not used again.


async def _pieces(answer: httpx.Response, clock: Waiting) -> AsyncGenerator[bytes, None]:
    """Yield the body as it arrives, decoded, each wait on the clock."""
    unpack = plain(answer.headers.get("content-encoding", ""))
    total = 0
    raw = answer.aiter_raw()
    while (piece := await clock.wait(anext(raw, None))) is not None:
        for part in unpack(piece):
            total += len(part)
            if total > MAX_ANSWER_BYTES:
                msg = f"the answer is larger than {MAX_ANSWER_BYTES:,} bytes"
                raise EventTooLargeError(msg)
            yield part


def _tls_context(provider: Provider) -> ssl.SSLContext:
    """Return what verifies the provider: the bundled authorities, whatever the environment says."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if provider.base_url.lower().startswith("https"):  # Reading them takes a while, and plain http needs none.
        context.load_verify_locations(certifi.where())
    return context


def _said(exc: Exception) -> str:
    """Say in our own words what happened: foreign texts may hold what must not be shown."""
    if isinstance(exc, EventTooLargeError | EncodingError):
        return str(exc)
    causes = list(_causes(exc))
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its certificate was refused: {cause.verify_message}"
    if isinstance(exc, httpx.ConnectTimeout):
        return "no connection in time"
    if isinstance(exc, httpx.ConnectError):
        codes = [cause.errno for cause in causes if isinstance(cause, OSError) and cause.errno]
        return f"no connection: {os.strerror(codes[0]).lower()}" if codes and codes[0] > 0 else "no connection"
    return "the connection was lost before the answer's end"


def _causes(exc: BaseException) -> Iterator[BaseException]:
    found: BaseException | None = exc
    while found is not None:
        yield found
        found = found.__cause__ or found.__context__
