"""Speak HTTP/1.1 over connections that are kept: h11 reads and writes heads, asyncio's transports carry them.

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
        request: The same for h11, to keep track of whose turn it is.
        text: As it is sent, all but the length of the body and the line that ends it.
    """

    url: httpx.URL
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
    return Head(url, request, text.removesuffix(_LINE_END))


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
        url = ask.head.url
        origin = url.scheme, url.host, url.port
        link = self._free(origin) or await _connected(ask, origin, self._tls)
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


async def _connected(ask: Ask, origin: Origin, tls: ssl.SSLContext) -> _Link:
    url, timeout_s = ask.head.url, ask.connect_s
    is_tls = url.scheme == "https"
    if not is_tls and url.scheme != "http":
        msg = f"wanted an http or https address, found {url.scheme!r}"
        raise httpx.UnsupportedProtocol(msg)
    host, port = url.raw_host.decode("ascii"), url.port or (443 if is_tls else 80)
    try:
        async with asyncio.timeout(timeout_s):
            _, link = await asyncio.get_running_loop().create_connection(
                lambda: _Link(origin), host, port, ssl=tls if is_tls else None, happy_eyeballs_delay=0.25
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
        self._http = _new_http()
        self._carrier: asyncio.Transport | None = None
        self._chunked: ChunkedBody | None = None  # what reads the answer's body, where that is chunked
        self._came = bytearray()
        self._over, self._error = False, cast("Exception | None", None)
        self._more: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._carrier = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Keep what came until it is asked for; where it is much, let the other side wait."""
        self._came += data
        if len(self._came) > MAX_WAITING_BYTES and self._carrier:
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
        with _IN_HTTPX_WORDS:
            self._http.send(ask.head.request)
            self._http.send(_WHOLE)
        if self._carrier:
            length = b"" if body is None else b"content-length: %d\r\n" % len(body)
            self._carrier.write(b"%b%b\r\n%b" % (head, length, body or b""))

    async def head(self) -> h11.Response:
        """Return the head of the answer."""
        while not isinstance(event := await self._event(), h11.Response):
            if not isinstance(event, h11.InformationalResponse):
                msg = "the connection was closed before an answer"
                raise httpx.RemoteProtocolError(msg)
        is_chunked = _CHUNKED in list(event.headers) and event.status_code not in _BODILESS
        self._chunked = ChunkedBody() if is_chunked else None
        if is_chunked:  # What came with the head is not h11's any more.
            self._came[:0] = self._http.trailing_data[0]
        return event

    async def piece(self) -> bytes:
        """Return more of the answer's body, as much at once as has come; nothing at its end."""
        return await (self._other_piece() if self._chunked is None else self._chunked_piece(self._chunked))

    async def _chunked_piece(self, body: ChunkedBody) -> bytes:
        piece = b""
        while not (piece or body.ended):
            if not (data := await self._bytes()):
                msg = "the connection was closed before the answer's end"
                raise httpx.RemoteProtocolError(msg)
            piece = body.feed(data)
        return piece

    async def _other_piece(self) -> bytes:
        parts: list[bytes] = []
        event: object = await self._event() if self._http.their_state is h11.SEND_BODY else None
        while isinstance(event, h11.Data):
            parts.append(bytes(event.data))
            event = self._next()
        return b"".join(parts)

    def renewed(self) -> bool:
        """Be ready for another request; say whether that is possible."""
        http, body = self._http, self._chunked
        is_read, rest = (body.ended, body.rest) if body else (http.their_state is h11.DONE, http.trailing_data[0])
        if not is_read or rest or http.our_state is not h11.DONE or not self.is_alive:
            return False
        self._http = _new_http()
        return True

    async def _event(self) -> h11.Event:
        while not isinstance(event := self._next(), h11.Event):
            if event is h11.PAUSED:
                msg = "it went over to another protocol"
                raise httpx.RemoteProtocolError(msg)
            data = await self._bytes()
            with _IN_HTTPX_WORDS:
                self._http.receive_data(data)
        return event

    def _next(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        with _IN_HTTPX_WORDS:
            return self._http.next_event()

    async def _bytes(self) -> bytes:
        """Return what came; nothing where the other side has hung up."""
        while not self._came and not self._over:
            self._more = asyncio.get_running_loop().create_future()
            await self._more
        if not self._came and self._error:
            msg = "the connection was lost"
            raise httpx.ReadError(msg) from self._error
        data = bytes(self._came)
        if len(data) > MAX_WAITING_BYTES and self._carrier:
            self._carrier.resume_reading()
        self._came.clear()
        return data

    def _wake(self) -> None:
        if self._more and not self._more.done():
            self._more.set_result(None)


class Answer:
    """Read one answer, and give its connection back where it has been read to its end; iterate over its body.

    Attributes:
        status_code: What it says of the request.
        headers: Names in lower case; those that came several times as one, with commas.
    """

    def __init__(self, head: h11.Response, link: _Link, keep: Callable[[_Link], None]) -> None:
        self.status_code = head.status_code
        self.headers: dict[str, str] = {}
        for raw_name, raw_value in head.headers:
            name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
            self.headers[name] = f"{self.headers[name]}, {value}" if name in self.headers else value
        self._link, self._keep, self._closed = link, keep, False

    def __aiter__(self) -> Answer:
        return self

    async def __anext__(self) -> bytes:
        if not (piece := await self._link.piece()):
            raise StopAsyncIteration
        return piece

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
