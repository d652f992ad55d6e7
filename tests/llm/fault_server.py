"""A model server on loopback that misbehaves as told, on raw sockets: nothing tidies up what it sends."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import pytest

from kova_auto.core.errors import ModelError
from kova_auto.core.message import ModelReply, ModelRequest, ReplyDone
from kova_auto.core.provider import Provider, Timeouts
from kova_auto.llm.breaker import Timer
from kova_auto.llm.client import HttpModel
from kova_auto.llm.openai_chat.wire import OpenAiChat
from tests.llm.chat_stream import KEY, asks, quick


class Act(Enum):
    """Do something else than send bytes."""

    NO_ANSWER = "not even begin an answer until the client goes away"
    STALL = "say nothing until the client goes away"
    DROP = "reset the connection"
    CLOSE = "end the connection although more was promised"
    PINGS = "send comments until the client goes away"
    EMPTY_DELTAS = "send chunks without content until the client goes away"


@dataclass(frozen=True)
class Answer:
    """Hold one answer: each piece of bytes is one chunk on the wire."""

    pieces: tuple[bytes | Act, ...]
    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("content-type", "text/event-stream"),)

    def head(self) -> bytes:
        lines = [f"HTTP/1.1 {self.status} X", "transfer-encoding: chunked", *(f"{k}: {v}" for k, v in self.headers)]
        return "\r\n".join([*lines, "", ""]).encode()


def streams(*pieces: bytes | Act, **headers: str) -> Answer:
    given = tuple((key.replace("_", "-"), value) for key, value in headers.items())
    return Answer(pieces, headers=(("content-type", "text/event-stream"), *given))


def refuses(status: int, body: object = None, **headers: str) -> Answer:
    given = tuple((key.replace("_", "-"), value) for key, value in headers.items())
    data = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else b""
    return Answer((data,) if data else (), status, given)


@dataclass
class Request:
    """Hold what was asked."""

    method: str
    target: str
    headers: dict[str, str]
    body: dict[str, Any]
    raw: bytes = b""


@dataclass
class FaultServer:
    """Hold where the server listens, what it was asked, and over how many connections."""

    port: int
    requests: list[Request] = field(default_factory=list)
    connections: int = 0
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    gone: asyncio.Event = field(default_factory=asyncio.Event)

    def provider(self, timeouts: Timeouts | None = None, **said: object) -> Provider:
        base = f"{said.pop('scheme', 'http')}://127.0.0.1:{self.port}/v1"
        given = {"name": "acme", "base_url": base, "api_key": KEY, "timeouts": timeouts or quick(), **said}
        return Provider.model_validate(given)


@asynccontextmanager
async def serving(*answers: Answer, tls: ssl.SSLContext | None = None) -> AsyncIterator[FaultServer]:
    """Serve each answer once, the last one again and again."""
    left = list(answers)
    server = FaultServer(0)

    tasks: set[asyncio.Task[None] | None] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.connections += 1
        tasks.add(asyncio.current_task())
        try:
            while request := await _request(reader):
                server.requests.append(request)
                server.asked.set()
                await _send(left.pop(0) if len(left) > 1 else left[0], reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, _EndedError):
            pass
        finally:
            server.gone.set()
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    server.port = listener.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listener.close()
        if open_still := [task for task in tasks if task]:
            await asyncio.wait(open_still, timeout=60)


async def reply_of(model: HttpModel, request: ModelRequest | None = None) -> ModelReply:
    *_, last = [chunk async for chunk in model.stream(request or asks())]
    assert isinstance(last, ReplyDone)
    return last.reply


async def failure_of(model: HttpModel, request: ModelRequest | None = None) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await reply_of(model, request)
    return caught.value


@asynccontextmanager
async def asking(
    *answers: Answer, timeouts: Timeouts | None = None, timer: Timer | None = None, **said: object
) -> AsyncIterator[tuple[HttpModel, FaultServer]]:
    """Serve answers, and open a model that asks for them."""
    async with serving(*answers) as server:
        model = HttpModel(server.provider(timeouts, **said), OpenAiChat(), timer)
        try:
            yield model, server
        finally:
            await model.aclose()


class _EndedError(Exception):
    pass


async def _request(reader: asyncio.StreamReader) -> Request | None:
    first = await reader.readline()
    if not first:
        return None
    headers: dict[str, str] = {}
    while line := (await reader.readline()).decode("latin-1").strip():
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    method, target, _ = first.decode().split()
    return Request(method, target, headers, json.loads(body) if body else {}, body)


async def _send(answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    if Act.NO_ANSWER not in answer.pieces:
        writer.write(answer.head())
    for piece in answer.pieces:
        match piece:
            case Act.STALL | Act.NO_ANSWER:
                await writer.drain()
                await reader.read()
                raise _EndedError
            case Act.DROP:
                await writer.drain()
                writer.transport.abort()
                raise _EndedError
            case Act.CLOSE:
                raise _EndedError
            case Act.PINGS:
                await _repeat(b": ping\n\n", reader, writer)
            case Act.EMPTY_DELTAS:
                await _repeat(b'data: {"choices": [{"index": 0, "delta": {"content": ""}}]}\n\n', reader, writer)
            case bytes():
                writer.write(_chunk(piece))
                await writer.drain()
    writer.write(_chunk(b""))
    await writer.drain()


async def _repeat(piece: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(_chunk(piece))
        await writer.drain()
        try:
            async with asyncio.timeout(0.01):
                await reader.read()
        except TimeoutError:
            continue
        raise _EndedError


def _chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def in_pieces(data: bytes, size: int) -> Iterable[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))
