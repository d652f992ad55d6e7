"""Speak HTTP/1.1 over connections that are kept: h11 words requests and reads heads, asyncio's transports carry them.

A reply comes in hundreds of small chunks. Here they pass one layer, together where they came together; through
httpx's own pool each passes eight on its own, which costs more than all else that a turn does with its model.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Final, NamedTuple, cast

import h11
import httpx

from kova_auto.llm.chunked import ChunkedBody
from kova_auto.llm.heads import AnswerHead, plain_head, together

MAX_HEAD_BYTES: Final = 65_536
MAX_WAITING_BYTES: Final = 262_144
MAX_KEPT: Final = 16
KEPT_S: Final = 30.0
_LINE_END: Final = b"\r\n"
_WHOLE: Final = h11.EndOfMessage()
_CHUNKED: Final = (b"transfer-encoding", b"chunked")
_BODILESS: Final = (204, 304)
_SUCCESS: Final = 2  # hundred
_REDIRECT: Final = 3


Origin = tuple[str, str, int | None]


class Head(NamedTuple):
    """Hold the head of any number of requests, worded once.

    Attributes:
        origin: Where they go.
        request: The same for h11, to keep track of whose turn it is.
        text: As it is sent, all but the length of the body and the line that ends it.
    """

    url: httpx.URL
    origin: Origin
    request: h11.Request
    text: bytes


class Ask(NamedTuple):
    """Hold one request; `body` is None where it has none."""

    head: Head
    body: bytes | None
    connect_s: float


def worded(method: str, url: httpx.URL, headers: Iterable[tuple[str, str]]) -> Head:
    """Return the head of requests.

    Args:
        method: In capitals.
        url: With a path.
        headers: All but host and length, names in lower case.

    Raises:
        httpx.LocalProtocolError: A header cannot be sent.
    """
    named = [("host", url.netloc.decode("ascii")), *headers]
    with _IN_HTTPX_WORDS:
        request = h11.Request(method=method, target=url.raw_path, headers=named)
        text = _new_http().send(request) or b""
    return Head(url, (url.scheme, url.host, url.port), request, text.removesuffix(_LINE_END))


class Http1Transport:
    """Hold the connections to one provider; use it in one event loop, and close it there."""

    def __init__(self, tls: ssl.SSLContext) -> None:
        """Take what verifies the provider, where its address is https."""
        self._tls = tls
        self._kept: list[_Link] = []

    async def ask(self, ask: Ask) -> Answer:
        """Return the answer, over a connection that is free or a new one; closing it frees that.

        Raises:
            httpx.TransportError: There is no answer.
        """
        link = self._free(ask.head.origin) or await _connected(ask, self._tls)
        try:
            link.send(ask)
            head = await link.head()
        except BaseException:
            link.close()
            raise
        return Answer(head, link, self._keep)

    async def aclose(self) -> None:
        """Close the connections that nobody uses; safe to call twice."""
        links, self._kept = self._kept, []
        for link in links:
            link.close()
        await asyncio.gather(*(link.gone for link in links))

    def _free(self, origin: Origin) -> _Link | None:
        """Return the connection that was used last; those that are over, or were not used for long, are let go."""
        now = asyncio.get_running_loop().time()
        alive = [link for link in self._kept if link.is_alive and now - link.kept_at < KEPT_S]
        for link in self._kept:
            if link not in alive:
                link.close()
        self._kept = alive
        fits = [link for link in alive if link.origin == origin]
        if not fits:
            return None
        alive.remove(fits[-1])
        return fits[-1]

    def _keep(self, link: _Link) -> None:
        link.kept_at = asyncio.get_running_loop().time()
        self._kept.append(link)
        if len(self._kept) > MAX_KEPT:
            self._kept.pop(0).close()


async def _connected(ask: Ask, tls: ssl.SSLContext) -> _Link:
    url, timeout_s = ask.head.url, ask.connect_s
    is_tls = url.scheme == "https"
    if not is_tls and url.scheme != "http":
        msg = f"wanted an http or https address, found {url.scheme!r}"
        raise httpx.UnsupportedProtocol(msg)
    host, port = url.raw_host.decode("ascii"), url.port or (443 if is_tls else 80)
    try:
        async with asyncio.timeout(timeout_s):
            _, link = await asyncio.get_running_loop().create_connection(
                lambda: _Link(ask.head.origin), host, port, ssl=tls if is_tls else None, happy_eyeballs_delay=0.25
            )
    except TimeoutError as exc:
        msg = f"no connection within {timeout_s} s"
        raise httpx.ConnectTimeout(msg) from exc
    except OSError as exc:
        msg = "no connection"
        raise httpx.ConnectError(msg) from exc
    return link


class _HttpxWords:
    """Say in httpx's words what h11 finds wrong."""

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if isinstance(error, h11.RemoteProtocolError):
            raise httpx.RemoteProtocolError(str(error)) from error
        if isinstance(error, h11.LocalProtocolError):
            raise httpx.LocalProtocolError(str(error)) from error


_IN_HTTPX_WORDS: Final = _HttpxWords()


def _new_http() -> h11.Connection:
    return h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)


class _Link(asyncio.Protocol):
    """Hold one connection, for one request after the other.

    Attributes:
        origin: What it is connected to.
        kept_at: Since when nobody has used it, by the clock of its loop.
        gone: Done when it is closed.
    """

    def __init__(self, origin: Origin) -> None:
        self.origin, self.kept_at = origin, 0.0
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._asked: h11.Request | None = None
        self._http: h11.Connection | None = None  # what reads the answer, once that is known to be no plain one
        self._carrier: asyncio.Transport | None = None
        self._chunked: ChunkedBody | None = None  # what reads the answer's body, where that is chunked
        self._came = bytearray()
        self._over, self._error = False, cast("Exception | None", None)
        self._waits = False  # The other side does: enough has come that nobody has asked for.
        self._more: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._carrier = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Keep what came until it is asked for; where it is much, let the other side wait."""
        self._came += data
        if len(self._came) > MAX_WAITING_BYTES and self._carrier:
            self._waits = True
            self._carrier.pause_reading()
        self._wake()

    def eof_received(self) -> bool:
        """Take note that nothing more comes, and close."""
        self._over = True
        self._wake()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Take note of how it ended."""
        self._over, self._error = True, exc
        self._wake()
        if not self.gone.done():
            self.gone.set_result(None)

    @property
    def is_alive(self) -> bool:
        """Say whether another request can be made: nothing has come unasked, and nobody has hung up."""
        return not (self._over or self._came or self._carrier is None or self._carrier.is_closing())

    def close(self) -> None:
        """Hang up; safe to call twice."""
        if self._carrier:
            self._carrier.abort()

    def send(self, ask: Ask) -> None:
        """Write a whole request at once."""
        head, body = ask.head.text, ask.body
        self._asked = ask.head.request
        if self._carrier:
            length = b"" if body is None else b"content-length: %d\r\n" % len(body)
            self._carrier.write(b"%b%b\r\n%b" % (head, length, body or b""))

    async def head(self) -> AnswerHead:
        """Return the head of the answer."""
        await self._something()
        if plain := plain_head(self._came):
            head, size = plain
            del self._came[:size]
            self._chunked = ChunkedBody()
            return head
        return await self._other_head(self._heard_by_h11())

    def _heard_by_h11(self) -> h11.Connection:
        http = self._http = _new_http()
        if self._asked:
            with _IN_HTTPX_WORDS:
                http.send(self._asked)
                http.send(_WHOLE)
        return http

    async def _other_head(self, http: h11.Connection) -> AnswerHead:
        while not isinstance(event := await self._event(http), h11.Response):
            if not isinstance(event, h11.InformationalResponse):
                msg = "the connection was closed before an answer"
                raise httpx.RemoteProtocolError(msg)
        if _CHUNKED in list(event.headers) and event.status_code not in _BODILESS:
            self._chunked = ChunkedBody()
            self._came[:0] = http.trailing_data[0]  # What came with the head is not h11's any more.
        read = together((name.decode("latin-1"), value.decode("latin-1")) for name, value in event.headers)
        return AnswerHead(event.status_code, read)

    async def piece(self) -> bytes:
        """Return more of the answer's body, as much at once as has come; nothing at its end."""
        if self._chunked:
            return await self._chunked_piece(self._chunked)
        return await self._other_piece(self._http) if self._http else b""

    async def _chunked_piece(self, body: ChunkedBody) -> bytes:
        piece = b""
        while not (piece or body.ended):
            if not (data := await self._bytes()):
                msg = "the connection was closed before the answer's end"
                raise httpx.RemoteProtocolError(msg)
            piece = body.feed(data)
        return piece

    async def _other_piece(self, http: h11.Connection) -> bytes:
        parts: list[bytes] = []
        event: object = await self._event(http) if http.their_state is h11.SEND_BODY else None
        while isinstance(event, h11.Data):
            parts.append(bytes(event.data))
            event = _next(http)
        return b"".join(parts)

    @property
    def has_given_all(self) -> bool:
        """Say whether a chunked body has come to its end."""
        return self._chunked is not None and self._chunked.ended

    def renewed(self) -> bool:
        """Be ready for another request; say whether that is possible."""
        http, body = self._http, self._chunked
        is_over = body is not None and body.ended and not body.rest
        if http:
            is_over = http.our_state is h11.DONE and (is_over if body else _is_over(http))
        if not is_over or not self.is_alive:
            return False
        self._http = self._chunked = None
        return True

    async def _event(self, http: h11.Connection) -> h11.Event:
        while not isinstance(event := _next(http), h11.Event):
            if event is h11.PAUSED:
                msg = "it went over to another protocol"
                raise httpx.RemoteProtocolError(msg)
            data = await self._bytes()
            with _IN_HTTPX_WORDS:
                http.receive_data(data)
        return event

    async def _something(self) -> None:
        """Wait until something has come, or nothing more will."""
        while not self._came and not self._over:
            self._more = asyncio.get_running_loop().create_future()
            await self._more

    async def _bytes(self) -> bytes:
        """Return what came; nothing where the other side has hung up."""
        await self._something()
        if not self._came and self._error:
            msg = "the connection was lost"
            raise httpx.ReadError(msg) from self._error
        data = bytes(self._came)
        if self._waits and self._carrier:
            self._waits = False
            self._carrier.resume_reading()
        self._came.clear()
        return data

    def _wake(self) -> None:
        if self._more and not self._more.done():
            self._more.set_result(None)


def _next(http: h11.Connection) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
    with _IN_HTTPX_WORDS:
        return http.next_event()


def _is_over(http: h11.Connection) -> bool:
    return http.their_state is h11.DONE and not http.trailing_data[0]


class Answer:
    """Read one answer, and give its connection back where it has been read to its end; iterate over its body.

    Attributes:
        status_code: What it says of the request.
        headers: As its head holds them.
    """

    def __init__(self, head: AnswerHead, link: _Link, keep: Callable[[_Link], None]) -> None:
        self.status_code, self.headers = head
        self._link, self._keep, self._closed = link, keep, False

    def __aiter__(self) -> Answer:
        return self

    async def __anext__(self) -> bytes:
        if not (piece := await self._link.piece()):
            raise StopAsyncIteration
        return piece

    @property
    def is_over(self) -> bool:
        """Say whether its body has been read to its end; of one that is not chunked nobody knows."""
        return self._link.has_given_all

    @property
    def is_success(self) -> bool:
        """Say whether it is what was asked for."""
        return self.status_code // 100 == _SUCCESS

    @property
    def is_redirect(self) -> bool:
        """Say whether it points elsewhere."""
        return self.status_code // 100 == _REDIRECT

    async def aclose(self) -> None:
        """Free the connection; safe to call twice."""
        if self._closed:
            return
        self._closed = True
        if self._link.renewed():
            self._keep(self._link)
        else:
            self._link.close()
            await asyncio.shield(self._link.gone)
