"""What HTTP/1.1 allows an answer to be, over real connections: framing, interim answers, and when one is used again."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import httpx
import pytest

from kova_auto.llm.http1 import MAX_WAITING_BYTES, Ask, Http1Transport, _Link, worded

OK = b"HTTP/1.1 200 OK\r\n"
SIZED = OK + b"content-length: 5\r\n\r\nhello"
CHUNKED = OK + b"transfer-encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nx-more: y\r\n\r\n"
ENDLESS = OK + b"\r\nhello"


@dataclass
class Server:
    """Hold where a server listens, and what it was sent on each of its connections."""

    port: int = 0
    sent: list[bytes] = field(default_factory=list)

    def request(self, body: bytes = b"ask", **headers: str) -> Ask:
        return Ask(worded("POST", httpx.URL(f"http://127.0.0.1:{self.port}/v1?x=y"), headers.items()), body, 5)


@asynccontextmanager
async def serving(*answers: bytes, step: int = 0, hangs_up: bool = False) -> AsyncIterator[Server]:
    """Answer requests with these bytes, one after the other, in pieces of `step`; then, or after each, hang up."""
    server, left = Server(), list(answers)
    serving_now: set[asyncio.Task[None] | None] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving_now.add(asyncio.current_task())
        with suppress(ConnectionError):
            await converse(reader, writer)
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.sent.append(b"")
        while left and (data := await reader.read(65_536)):
            server.sent[-1] += data
            answer = left.pop(0)
            for at in range(0, len(answer), step or len(answer)):
                writer.write(answer[at : at + (step or len(answer))])
                await asyncio.sleep(0)
            await writer.drain()
            if hangs_up:
                return
        await reader.read()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    server.port = listener.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listener.close()
        if still := [task for task in serving_now if task]:
            await asyncio.wait(still, timeout=60)


async def asked(transport: Http1Transport, request: Ask) -> tuple[int, bytes]:
    """Return status and body of an answer that is read to its end."""
    answer = await transport.ask(request)
    body = b"".join([piece async for piece in answer])
    await answer.aclose()
    return answer.status_code, body


@asynccontextmanager
async def transporting() -> AsyncIterator[Http1Transport]:
    transport = Http1Transport(ssl.create_default_context())
    try:
        yield transport
    finally:
        await transport.aclose()


async def test_head_and_body_of_a_request_arrive_as_they_were_given() -> None:
    async with serving(SIZED) as server, transporting() as transport:
        await asked(transport, server.request(b"ask"))

        head, body = server.sent[0].split(b"\r\n\r\n")
        assert head.split(b"\r\n")[0] == b"POST /v1?x=y HTTP/1.1"
        assert f"host: 127.0.0.1:{server.port}".encode() in head.lower().split(b"\r\n")
        assert body == b"ask"


@pytest.mark.parametrize("answer", [SIZED, CHUNKED, ENDLESS])
@pytest.mark.parametrize("step", [0, 1, 7])
async def test_a_body_is_read_whatever_its_framing_and_pieces(answer: bytes, step: int) -> None:
    async with serving(answer, step=step, hangs_up=True) as server, transporting() as transport:
        assert await asked(transport, server.request()) == (200, b"hello")


async def test_chunks_that_came_together_are_given_together() -> None:
    async with serving(CHUNKED) as server, transporting() as transport:
        answer = await transport.ask(server.request())

        assert [piece async for piece in answer] == [b"hello"]
        await answer.aclose()


async def test_interim_answers_are_passed_over() -> None:
    interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n"
    async with serving(interim + SIZED) as server, transporting() as transport:
        assert await asked(transport, server.request()) == (200, b"hello")


@pytest.mark.parametrize(
    "answers",
    [
        (SIZED, CHUNKED, SIZED),
        (CHUNKED, OK + b"content-length: 0\r\n\r\n"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", SIZED),
    ],
)
async def test_a_connection_whose_answer_was_read_is_used_again(answers: Sequence[bytes]) -> None:
    async with serving(*answers) as server, transporting() as transport:
        for _ in answers:
            await asked(transport, server.request())

        assert len(server.sent) == 1


@pytest.mark.parametrize(
    "first",
    [
        OK + b"connection: close\r\ncontent-length: 5\r\n\r\nhello",
        b"HTTP/1.0 200 OK\r\ncontent-length: 5\r\n\r\nhello",
        SIZED + b"and more, unasked",
    ],
)
async def test_a_connection_that_is_over_or_odd_is_not_used_again(first: bytes) -> None:
    async with serving(first, SIZED) as server, transporting() as transport:
        assert await asked(transport, server.request()) == (200, b"hello")
        assert await asked(transport, server.request()) == (200, b"hello")

        assert len(server.sent) == 2


async def test_a_connection_that_the_server_closed_meanwhile_is_not_used_again() -> None:
    async with serving(SIZED, SIZED, hangs_up=True) as server, transporting() as transport:
        await asked(transport, server.request())
        async with asyncio.timeout(60):
            await asyncio.gather(*(link.gone for link in transport._kept))

        assert await asked(transport, server.request()) == (200, b"hello")
        assert len(server.sent) == 2


async def test_a_connection_whose_answer_was_not_read_is_closed() -> None:
    async with serving(SIZED, SIZED) as server, transporting() as transport:
        answer = await transport.ask(server.request())
        await answer.aclose()
        await answer.aclose()

        assert await asked(transport, server.request()) == (200, b"hello")
        assert len(server.sent) == 2


@pytest.mark.parametrize(
    "answer",
    [
        b"nonsense\r\n\r\n",
        OK + b"content-length: 9\r\n\r\nhello",
        OK + b"content-length: 5\r\ncontent-length: 6\r\n\r\nhello",
        OK + b"transfer-encoding: chunked\r\n\r\nzz\r\nhello\r\n",
        OK + b"transfer-encoding: chunked\r\n\r\n5\r\nhel",
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n",
        OK + b"x: " + b"y" * 100_000,
        b"",
    ],
)
async def test_an_answer_that_is_none_or_not_whole_is_refused(answer: bytes) -> None:
    async with serving(answer, hangs_up=True) as server, transporting() as transport:
        with pytest.raises(httpx.RemoteProtocolError):
            await asked(transport, server.request())

        assert transport._kept == []


async def test_a_body_that_nobody_reads_makes_its_sender_wait() -> None:
    size = 64 * 1024 * 1024
    async with serving(OK + b"content-length: %d\r\n\r\n" % size + bytes(size)) as server, transporting() as transport:
        answer = await transport.ask(server.request())
        for _ in range(200):
            await asyncio.sleep(0)
        assert len(answer._link._came) < 1_000_000
        await answer.aclose()


class Carrier(asyncio.Transport):
    """Be a connection whose other side waits or goes on."""

    waits = False

    def pause_reading(self) -> None:
        self.waits = True

    def resume_reading(self) -> None:
        self.waits = False


async def test_a_sender_that_waits_goes_on_once_what_came_is_read() -> None:
    link, carrier, chunk = _Link(("http", "x", 80)), Carrier(), b"x" * (MAX_WAITING_BYTES - 20)
    link.connection_made(carrier)

    link.data_received(OK + b"transfer-encoding: chunked\r\n\r\n%x\r\n%b" % (len(chunk), chunk))
    assert carrier.waits
    await link.head()
    assert await link.piece() == chunk

    assert not carrier.waits


async def test_a_header_that_would_be_two_is_not_sent() -> None:
    async with serving(SIZED) as server, transporting() as transport:
        with pytest.raises(httpx.LocalProtocolError):
            await transport.ask(server.request(odd="a\r\nx-other: b"))
