"""One exchange against receivers that misbehave, over real sockets on loopback."""

from __future__ import annotations

import asyncio
import gzip
import logging
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import ip_network
from pathlib import Path

import pytest
import trustme

from kova_auto.core.net.http import BodyEnd, FailureKind, HttpFailure, HttpRequest, HttpResponse
from kova_auto.core.net.url import Egress, Url, parse_url
from kova_auto.net.exchange import GuardedExchange
from kova_auto.net.guard import tls_context

LOOPBACK = Egress(allow_http=True, allow_cidrs=(ip_network("127.0.0.0/8"),))
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"

Act = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Receiver:
    """Hold where a receiver listens and what it was sent, request by request."""

    port: int
    requests: list[bytes] = field(default_factory=list)

    def url(self, path: str = "/", host: str = "127.0.0.1", scheme: str = "http") -> Url:
        return parse_url(f"{scheme}://{host}:{self.port}{path}", LOOPBACK)


@asynccontextmanager
async def receiver(act: Act, tls: ssl.SSLContext | None = None) -> AsyncIterator[Receiver]:
    """Serve `act` after reading each request's head and body."""
    ended = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(
                (int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0
            )
            here.requests.append(head + await reader.readexactly(length))
            talk = asyncio.ensure_future(act(reader, writer))
            await asyncio.wait({talk, stop}, return_when=asyncio.FIRST_COMPLETED)
            talk.cancel()
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()

    stop = asyncio.ensure_future(ended.wait())
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls, limit=2**20)
    here = Receiver(server.sockets[0].getsockname()[1])
    async with server:
        yield here
        ended.set()
        await stop


def says(*parts: bytes) -> Act:
    async def act(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for part in parts:
            writer.write(part)
            await writer.drain()

    return act


async def silence(_reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


async def reset(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    sock: socket.socket = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def then_silence(*parts: bytes) -> Act:
    async def act(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await says(*parts)(reader, writer)
        await silence(reader, writer)

    return act


@dataclass(frozen=True)
class Local:
    """Resolve every name to loopback."""

    async def resolve(self, _host: str) -> Sequence[str]:
        return ["127.0.0.1"]


def trusting(authority: trustme.CA) -> ssl.SSLContext:
    context = tls_context()
    authority.configure_trust(context)
    return context


def files_in(directory: Path) -> list[Path]:
    return list(directory.iterdir())


async def ask(
    url: Url, *, deadline_s: float = 60, tls: ssl.SSLContext | None = None, room: int = 65_536
) -> HttpResponse | HttpFailure:
    exchange = GuardedExchange(Local(), tls or tls_context())
    request = HttpRequest("POST", url, (("X-Test", "1"),), b'{"a":1}', LOOPBACK, deadline_s, room)
    return await exchange.exchange(request)


async def test_a_request_carries_what_it_must_and_nothing_else() -> None:
    async with receiver(says(ANSWER)) as there:
        answer = await ask(there.url("/hook?a=b"))

    assert answer == HttpResponse(200, (("content-length", "2"),), b"ok", BodyEnd.COMPLETE)
    head, _, body = there.requests[0].partition(b"\r\n\r\n")
    assert head.split(b"\r\n") == [
        b"POST /hook?a=b HTTP/1.1",
        f"Host: 127.0.0.1:{there.port}".encode(),
        b"User-Agent: kova-auto/0.1.0",
        b"Accept-Encoding: identity",
        b"Connection: close",
        b"X-Test: 1",
        b"Content-Length: 7",
    ]
    assert body == b'{"a":1}'


async def test_a_redirect_is_an_answer_and_is_not_followed() -> None:
    async with (
        receiver(says(ANSWER)) as target,
        receiver(
            says(f"HTTP/1.1 307 T\r\nlocation: http://127.0.0.1:{target.port}/\r\ncontent-length: 0\r\n\r\n".encode())
        ) as there,
    ):
        answer = await ask(there.url())

    assert isinstance(answer, HttpResponse)
    assert (answer.status, target.requests) == (307, [])


async def test_a_cookie_is_not_sent_back() -> None:
    async with receiver(says(b"HTTP/1.1 200 OK\r\nset-cookie: a=b\r\ncontent-length: 0\r\n\r\n")) as there:
        exchange = GuardedExchange(Local())
        for _ in range(2):
            await exchange.exchange(HttpRequest("POST", there.url(), egress=LOOPBACK))

    assert there.requests[0] == there.requests[1]


async def test_a_planted_second_answer_is_not_taken_for_the_next_one() -> None:
    async with receiver(says(ANSWER + b"HTTP/1.1 500 evil\r\ncontent-length: 0\r\n\r\n")) as there:
        exchange = GuardedExchange(Local())
        answers = [await exchange.exchange(HttpRequest("POST", there.url(), egress=LOOPBACK)) for _ in range(2)]

    assert [answer.status for answer in answers if isinstance(answer, HttpResponse)] == [200, 200]


async def test_a_body_past_the_limit_is_not_read() -> None:
    async with receiver(then_silence(b"HTTP/1.1 200 OK\r\n\r\n" + b"a" * 10_000)) as there:
        answer = await ask(there.url(), room=2_000)

    assert answer == HttpResponse(200, (), b"a" * 2_000, BodyEnd.CUT)


async def test_a_compressed_body_is_kept_as_it_came() -> None:
    bomb = gzip.compress(b"\0" * 1_000_000)
    head = f"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {len(bomb)}\r\n\r\n".encode()
    async with receiver(says(head + bomb)) as there:
        answer = await ask(there.url())

    assert isinstance(answer, HttpResponse)
    assert answer.body == bomb


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(says(), id="closed"),
        pytest.param(reset, id="reset"),
        pytest.param(says(b"SSH-2.0-OpenSSH_9.6\r\n"), id="another protocol"),
        pytest.param(says(b"hello"), id="HTTP/0.9"),
        pytest.param(says(b"HTTP/1.1 099 Low\r\n\r\n"), id="status 099"),
        pytest.param(says(b"HTTP/1.1 200 OK\r\na: \0\r\n\r\n"), id="NUL in a header"),
        pytest.param(says(b"HTTP/1.1 200 OK\r\na: " + b"b" * 200_000 + b"\r\n\r\n"), id="endless header"),
        pytest.param(says(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n"), id="two lengths"),
        pytest.param(says(b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n"), id="negative length"),
        pytest.param(says(b"HTTP/1.1 200 O"), id="half a head"),
    ],
)
async def test_an_answer_that_never_was_leaves_it_open_whether_the_receiver_acted(act: Act) -> None:
    async with receiver(act) as there:
        failure = await ask(there.url())

    assert isinstance(failure, HttpFailure)
    assert (failure.kind, failure.written) == (FailureKind.LOST, True)


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(silence, id="no answer"),
        pytest.param(then_silence(b"HTTP/1.1 2"), id="half a head"),
        pytest.param(then_silence(*[b"HTTP/1.1 103 Early\r\n\r\n"] * 50), id="early hints only"),
    ],
)
async def test_the_deadline_ends_a_receiver_that_dawdles(act: Act) -> None:
    async with receiver(act) as there:
        failure = await ask(there.url(), deadline_s=1.0)

    assert failure == HttpFailure(FailureKind.DEADLINE, written=True, detail="no whole answer within 1 s")


async def test_the_deadline_ends_a_receiver_that_does_not_read() -> None:
    ended = asyncio.Event()

    async def deaf(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await ended.wait()
        writer.close()

    server = await asyncio.start_server(deaf, "127.0.0.1", 0)
    async with server:
        there = Receiver(server.sockets[0].getsockname()[1])
        request = HttpRequest("POST", there.url(), body=b"x" * 20_000_000, egress=LOOPBACK, deadline_s=1.0)
        failure = await GuardedExchange(Local()).exchange(request)
        ended.set()

    assert failure == HttpFailure(FailureKind.DEADLINE, written=True, detail="no whole answer within 1 s")


@pytest.mark.parametrize(
    ("act", "body"),
    [
        pytest.param(then_silence(b"HTTP/1.1 202 A\r\ncontent-length: 9\r\n\r\n", b"half"), b"half", id="stalled"),
        pytest.param(says(b"HTTP/1.1 202 A\r\ncontent-length: 9\r\n\r\n", b"half"), b"half", id="short"),
        pytest.param(says(b"HTTP/1.1 202 A\r\ntransfer-encoding: chunked\r\n\r\n", b"zz\r\n"), b"", id="bad chunk"),
    ],
)
async def test_a_body_that_breaks_off_still_has_a_status(act: Act, body: bytes) -> None:
    async with receiver(act) as there:
        answer = await ask(there.url(), deadline_s=1.0)

    assert isinstance(answer, HttpResponse)
    assert (answer.status, answer.body, answer.ending) == (202, body, BodyEnd.BROKEN)


async def test_a_status_that_nobody_defined_is_an_answer() -> None:
    async with receiver(says(b"HTTP/1.1 999 Odd\r\ncontent-length: 0\r\n\r\n")) as there:
        answer = await ask(there.url())

    assert answer == HttpResponse(999, (("content-length", "0"),))


async def test_a_closed_port_is_known_before_anything_is_written() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        failure = await ask(parse_url(f"http://127.0.0.1:{held.getsockname()[1]}/", LOOPBACK))

    assert failure == HttpFailure(FailureKind.CONNECT, written=False, detail="no connection: connection refused")


async def test_a_name_is_kept_for_the_certificate() -> None:
    authority, server = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("hooks.test").configure_cert(server)
    async with receiver(says(ANSWER), tls=server) as there:
        right = await ask(there.url(host="hooks.test", scheme="https"), tls=trusting(authority))
        wrong = await ask(there.url(host="other.test", scheme="https"), tls=trusting(authority))

    assert isinstance(right, HttpResponse)
    assert isinstance(wrong, HttpFailure)
    assert (wrong.kind, wrong.written) == (FailureKind.TLS, False)
    assert "Hostname mismatch" in wrong.detail
    assert len(there.requests) == 1


async def test_an_unknown_authority_is_refused_before_anything_is_written() -> None:
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("hooks.test").configure_cert(server)
    async with receiver(says(ANSWER), tls=server) as there:
        failure = await ask(there.url(host="hooks.test", scheme="https"))

    assert isinstance(failure, HttpFailure)
    assert (failure.kind, failure.written, there.requests) == (FailureKind.TLS, False, [])
    assert "certificate was refused" in failure.detail


async def test_https_to_a_plain_port_says_so() -> None:
    server = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0)
    async with server:
        there = Receiver(server.sockets[0].getsockname()[1])
        failure = await ask(there.url(scheme="https"))

    detail = "no TLS connection: does the receiver speak https on this port?"
    assert failure == HttpFailure(FailureKind.TLS, written=False, detail=detail)


async def test_the_environment_changes_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.setenv("SSL_CERT_FILE", "/nonexistent")
    monkeypatch.setenv("SSLKEYLOGFILE", f"{tmp_path}/keys")
    authority, server = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("hooks.test").configure_cert(server)
    async with receiver(says(ANSWER), tls=server) as there:
        answer = await ask(there.url(host="hooks.test", scheme="https"), tls=trusting(authority))

    assert isinstance(answer, HttpResponse)
    assert files_in(tmp_path) == []


ECHO = b"HTTP/1.1 302 Found\r\nlocation: /s3cr3t\r\n\r\nno hook s3cr3t"


@pytest.mark.parametrize("act", [says(ECHO), says(), silence], ids=["echoed", "lost", "late"])
async def test_no_log_and_no_failure_holds_the_url_or_a_header(act: Act, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with receiver(act) as there:
        exchange = GuardedExchange(Local())
        url = there.url("/services/s3cr3t?sig=s3cr3t")
        request = HttpRequest("POST", url, (("Authorization", "s3cr3t"),), b"s3cr3t", LOOPBACK, 0.2)
        answer = await exchange.exchange(request)

    assert b"s3cr3t" in there.requests[0]
    assert "s3cr3t" not in caplog.text
    assert "s3cr3t" not in repr((answer, request))
