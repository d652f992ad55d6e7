"""Carry one connection of a confined command to where it may go: a tunnel (CONNECT), or one plain HTTP request.

Every message is framed by h11 on both sides, so that nothing rides on a request that was judged; a connection carries
one request. What a name resolves to is checked, and what was checked is connected to.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from ipaddress import ip_address
from types import TracebackType
from typing import Self

import h11

from kova_auto.core.approval.network import Destination, Network, destination, refusal
from kova_auto.core.net.address import EgressRefusedError, check_addresses
from kova_auto.core.net.address import Network as Cidr
from kova_auto.net.resolver import NameNotFoundError, Resolver

_MAX_HEAD_BYTES = 64 << 10
_CHUNK = 64 << 10
_CONNECT_S = 5.0
_HTTP_PORT = 80
_MAX_TRIED = 4
_LEAVING_S = 2.0
_FOR_ONE_HOP = frozenset(
    (b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection", b"te")
) | {b"trailer", b"upgrade"}

Message = h11.Request | h11.Response | h11.InformationalResponse
Headers = list[tuple[bytes, bytes]]
Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(frozen=True, slots=True)
class Terms:
    """Say where connections may lead.

    Attributes:
        allow: Networks that are reached though they are not public; none in a service.
    """

    network: Network
    resolver: Resolver
    allow: tuple[Cidr, ...] = ()


class _RefusedError(Exception):
    """Hold the answer that a client gets instead of a connection."""

    def __init__(self, status: int, reason: str) -> None:
        self.status, self.reason = status, reason
        super().__init__(reason)


class Forward:
    """Serve one client, to the end of its connection."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        terms: Terms,
        *,
        head_s: float,
        idle_s: float,
    ) -> None:
        """Take a connection over; `run` closes it."""
        self._client: Stream = (reader, writer)
        self._terms, self._head_s, self._idle_s = terms, head_s, idle_s
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=_MAX_HEAD_BYTES)

    async def run(self) -> str:
        """Return why the client got no connection; empty where it got one, or asked for none."""
        try:
            async with _closing(self._client):
                return await self._run()
        except (OSError, h11.ProtocolError, TimeoutError):  # either side went away, or speaks no HTTP
            return ""

    async def _run(self) -> str:
        async with asyncio.timeout(self._head_s):
            request = await self._next(self._http, self._client[0])
        if not isinstance(request, h11.Request):
            return ""
        try:
            upstream, head = await self._led(request)
        except _RefusedError as refused:
            await self._refuse(refused)
            return refused.reason
        async with _closing(upstream), _Pulse(self._idle_s) as pulse:
            await self._carry(head, upstream, pulse)
        return ""

    async def _led(self, request: h11.Request) -> tuple[Stream, h11.Request | None]:
        """Return a connection to where a request goes, and what is asked for there; None for a tunnel.

        Raises:
            _RefusedError: There is none.
        """
        wanted, path = _asked_for(request)
        if why := refusal(self._terms.network, wanted):
            raise _RefusedError(403, why)
        head = None if request.method == b"CONNECT" else _asked_there(request, wanted, path)
        return await self._connect(wanted), head

    async def _connect(self, wanted: Destination) -> Stream:
        try:
            answers = [wanted.host] if _is_literal(wanted.host) else await self._terms.resolver.resolve(wanted.host)
            addresses = check_addresses(wanted.host, answers, self._terms.allow)[:_MAX_TRIED]
        except EgressRefusedError as exc:
            raise _RefusedError(403, _without_advice(exc)) from exc
        except NameNotFoundError as exc:
            raise _RefusedError(502, str(exc)) from exc
        for address in addresses:
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(_CONNECT_S):
                    return await asyncio.open_connection(str(address), wanted.port)
        raise _RefusedError(502, f"{wanted} gave no connection")

    async def _refuse(self, refused: _RefusedError) -> None:
        text = f"network: {refused.reason}\n".encode()
        headers = [("Content-Type", "text/plain; charset=utf-8"), ("Connection", "close"), ("X-Kova-Auto", "refused")]
        length = ("Content-Length", str(len(text)))
        reason = b"Forbidden" if refused.status == 403 else b"Bad Gateway"
        head = h11.Response(status_code=refused.status, headers=[*headers, length], reason=reason)
        _, writer = self._client
        writer.write(self._sent(self._http, head, h11.Data(data=text), h11.EndOfMessage()))
        await writer.drain()

    async def _carry(self, head: h11.Request | None, upstream: Stream, pulse: _Pulse) -> None:
        if head is None:
            await self._tunnel(upstream, pulse)
            return
        http = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MAX_HEAD_BYTES)
        upstream[1].write(self._sent(http, head))
        sending = asyncio.create_task(self._messages(self._http, self._client[0], http, upstream[1], pulse))
        try:
            await self._messages(http, upstream[0], self._http, self._client[1], pulse)
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)

    async def _messages(
        self,
        source: h11.Connection,
        reader: asyncio.StreamReader,
        target: h11.Connection,
        writer: asyncio.StreamWriter,
        pulse: _Pulse,
    ) -> None:
        """Pass on one message, event by event."""
        while True:
            event = await self._next(source, reader)
            pulse.beat()
            match event:
                case h11.Response():
                    headers = [*_for_the_next(event), (b"Connection", b"close")]
                    event = h11.Response(status_code=event.status_code, headers=headers, reason=event.reason)
                case h11.InformationalResponse():
                    headers = _for_the_next(event)
                    event = h11.InformationalResponse(status_code=event.status_code, headers=headers)
                case h11.Data() | h11.EndOfMessage():
                    pass
                case _:
                    return
            writer.write(self._sent(target, event))
            await writer.drain()
            if isinstance(event, h11.EndOfMessage):
                return

    async def _tunnel(self, upstream: Stream, pulse: _Pulse) -> None:
        """Pass on bytes both ways, until both sides have said all or neither says anything."""
        reader, writer = self._client
        early, _ = self._http.trailing_data
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        upstream[1].write(early)
        await asyncio.gather(_pour(reader, upstream[1], pulse), _pour(upstream[0], writer, pulse))

    async def _next(self, http: h11.Connection, reader: asyncio.StreamReader) -> object:
        while (event := http.next_event()) is h11.NEED_DATA:
            http.receive_data(await reader.read(_CHUNK))
        return event

    def _sent(self, http: h11.Connection, *events: h11.Event) -> bytes:
        return b"".join(http.send(event) or b"" for event in events)


class _Pulse:
    """End what it holds when nothing has moved for too long: a TimeoutError then, as of `asyncio.timeout`."""

    def __init__(self, idle_s: float) -> None:
        self._idle_s, self._loop = idle_s, asyncio.get_running_loop()
        self._limit = asyncio.timeout(idle_s)

    def beat(self) -> None:
        if not self._limit.expired():
            self._limit.reschedule(self._loop.time() + self._idle_s)

    async def __aenter__(self) -> Self:
        await self._limit.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._limit.__aexit__(kind, exc, trace)


async def _pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, pulse: _Pulse) -> None:
    while chunk := await reader.read(_CHUNK):
        pulse.beat()
        writer.write(chunk)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


@asynccontextmanager
async def _closing(stream: Stream) -> AsyncIterator[None]:
    """Close a connection once all is sent; at once where it was cut off, or where nobody takes what is left."""
    _, writer = stream
    try:
        yield
        writer.close()
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(_LEAVING_S):
                await writer.wait_closed()
    finally:
        writer.transport.abort()


def _asked_for(request: h11.Request) -> tuple[Destination, bytes]:
    """Return where a request is to go, and what is asked for there.

    Raises:
        _RefusedError: It names nothing that may be reached.
    """
    target = request.target.decode("latin-1")
    try:
        if request.method == b"CONNECT":
            return destination(target), b""
        scheme, separator, rest = target.partition("://")
        if not separator or scheme.lower() != "http":
            raise _RefusedError(403, "a proxy is asked for http://host/ or by CONNECT host:port")
        cut = next((at for at, sign in enumerate(rest) if sign in "/?#"), len(rest))
        path = rest[cut:].partition("#")[0]
        return destination(rest[:cut], _HTTP_PORT), (path if path.startswith("/") else f"/{path}").encode("latin-1")
    except EgressRefusedError as exc:
        raise _RefusedError(403, _without_advice(exc)) from exc


def _asked_there(request: h11.Request, wanted: Destination, path: bytes) -> h11.Request:
    """Return a request as its server gets it: for the host that was judged, whatever Host said.

    One address may serve many names.
    """
    headers = [(name, value) for name, value in _for_the_next(request) if name.lower() != b"host"]
    headers = [(b"Host", _authority(wanted).encode()), *headers, (b"Connection", b"close")]
    return h11.Request(method=request.method, target=path, headers=headers)


def _authority(wanted: Destination) -> str:
    host = f"[{wanted.host}]" if ":" in wanted.host else wanted.host
    return host if wanted.port == _HTTP_PORT else f"{host}:{wanted.port}"


def _for_the_next(message: Message) -> Headers:
    """Return the headers that are meant for the other end, not for whoever is in between, as they were written."""
    headers = message.headers
    named = {token.strip().lower() for name, value in headers if name == b"connection" for token in value.split(b",")}
    dropped = _FOR_ONE_HOP | named
    return [(name, value) for name, value in headers.raw_items() if name.lower() not in dropped]


def _is_literal(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _without_advice(exc: EgressRefusedError) -> str:
    """Return why an address is refused; what may be done about it is for those who configure endpoints."""
    return str(exc).partition("; open it with")[0]
