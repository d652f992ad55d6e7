"""Reaches MCP servers over HTTP: guarded connections, bounded bodies, no redirect to another place.

The official library speaks by an `httpx2` client; what it is given here connects only to addresses that were checked.
This module is imported when such a server is first reached: the library takes longer to import than most commands.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterable, AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from http import HTTPStatus
from ipaddress import ip_network
from typing import Any, Final

import httpcore
import httpx2
from mcp.client.streamable_http import streamable_http_client

from kova_auto.core.errors import KovaError
from kova_auto.core.net.url import Egress, parse_url
from kova_auto.net.guard import GuardedBackend, tls_context
from kova_auto.net.resolver import Resolver, SystemResolver

PRIVATE: Final = Egress(
    allow_http=True,
    allow_cidrs=tuple(
        ip_network(text)
        for text in (
            "127.0.0.0/8",
            "::1/128",
            "10.0.0.0/8",
            "172.16.0.0/12",
            "192.168.0.0/16",
            "100.64.0.0/10",
            "fc00::/7",
        )
    ),
)
"""What a server may be where the user's configuration says that it may be private."""
_MAX_EVENT = 16 << 20
_CONNECT_S = 10.0
_FAREWELL_S = 3.0
_FORBIDDEN: Final[Mapping[int, str]] = {
    401: "401 Unauthorized: it wants to know who asks, or does not take the token that its headers give",
    403: "403 Forbidden: it knows who asks, and does not let us do this",
}


class TooLargeError(KovaError):
    """Say that an answer is larger than is read."""


class RefusedError(KovaError):
    """Say that a server does not let us in, or is none."""


class UnreachableError(KovaError):
    """Say that there is no connection, or none any more."""

    retryable = True


@asynccontextmanager
async def streams(
    url: str,
    headers: Mapping[str, str],
    *,
    allow_private: bool,
    max_body_bytes: int,
    resolver: Resolver | None = None,
) -> AsyncIterator[tuple[Any, Any]]:
    """Give the library's streams to and from a server.

    Args:
        url: As it is configured, its references replaced.
        headers: Sent with every request.
        allow_private: Addresses of this machine and network, and plain http, are allowed.
        max_body_bytes: Of the body of one answer.
        resolver: Asked for the addresses of its name; None for the system's.

    Raises:
        EgressRefusedError: Nothing may be sent there.
    """
    egress = PRIVATE if allow_private else Egress()
    parsed = parse_url(url, egress)
    transport = _Transport(egress, resolver or SystemResolver(), max_body_bytes)
    # No proxy, no cookies of ours, no `.netrc`: the environment has no say in where secrets are sent.
    client = httpx2.AsyncClient(
        transport=transport,
        headers={**headers, "Accept-Encoding": "identity"},
        timeout=httpx2.Timeout(None, connect=_CONNECT_S),  # the caller bounds what it waits for
        follow_redirects=False,
        trust_env=False,
    )
    target = f"{parsed.origin}{parsed.target}"
    async with client, streamable_http_client(target, http_client=client, max_sse_event_size=_MAX_EVENT) as found:
        yield found


class _Transport(httpx2.AsyncBaseTransport):
    """Carry requests over guarded connections."""

    def __init__(self, egress: Egress, resolver: Resolver, most: int) -> None:
        backend = GuardedBackend(egress.allow_cidrs, resolver, httpcore.AnyIOBackend())
        tls: ssl.SSLContext = tls_context()
        self._pool = httpcore.AsyncConnectionPool(ssl_context=tls, network_backend=backend)
        self._most = most

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        url, stream = request.url, request.stream
        if not isinstance(stream, AsyncIterable):
            msg = "wanted a request whose body can be sent by an async transport"
            raise TypeError(msg)
        target = httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
        sent = httpcore.Request(
            request.method, target, headers=request.headers.raw, content=stream, extensions=request.extensions
        )
        if request.method == "DELETE":
            return await self._farewell(sent)
        with _in_words():
            answer = await self._pool.handle_async_request(sent)
        if any(name.lower() == b"content-encoding" and value.lower() != b"identity" for name, value in answer.headers):
            await answer.aclose()
            message = "its answer is compressed, which nobody asked for"
            raise TooLargeError(message)
        if request.method == "POST" and (refused := _refusal(request, answer)):
            await answer.aclose()
            raise RefusedError(refused)
        return httpx2.Response(answer.status, headers=answer.headers, stream=_Body(answer, self._most))

    async def _farewell(self, sent: httpcore.Request) -> httpx2.Response:
        """Give a session back: nobody waits for a server that does not let go, and what it says to that is not read."""
        with _in_words():
            try:
                async with asyncio.timeout(_FAREWELL_S):
                    answer = await self._pool.handle_async_request(sent)
                    await answer.aclose()
            except TimeoutError as exc:
                message = f"it did not take its session back within {_FAREWELL_S:g} s"
                raise UnreachableError(message) from exc
        return httpx2.Response(answer.status)

    async def aclose(self) -> None:
        await self._pool.aclose()


class _Body(httpx2.AsyncByteStream):
    """Hold a body that ends with an error where it goes on for too long."""

    def __init__(self, answer: httpcore.Response, most: int) -> None:
        self._answer, self._left = answer, most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _in_words():
            async for part in self._answer.aiter_stream():
                self._left -= len(part)
                if self._left < 0:
                    message = "its answer is larger than is read"
                    raise TooLargeError(message)
                yield part

    async def aclose(self) -> None:
        await self._answer.aclose()


def _refusal(request: httpx2.Request, answer: httpcore.Response) -> str:
    """Return what a status means that is no answer of the protocol; empty where the library knows what it means."""
    status = answer.status
    if status < 400 or status in _FORBIDDEN:
        return _FORBIDDEN.get(status, "")
    kind = next((value for name, value in answer.headers if name.lower() == b"content-type"), b"")
    is_expired = status == HTTPStatus.NOT_FOUND and "mcp-session-id" in request.headers
    if is_expired or kind.startswith(b"application/json"):
        return ""
    phrase = HTTPStatus(status).phrase if status in set(HTTPStatus) else ""
    return f"it answered {status} {phrase}".strip()


@contextmanager
def _in_words() -> Iterator[None]:
    try:
        yield
    except (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError) as exc:
        message = f"it cannot be reached, or not any more ({type(exc).__name__})"
        raise UnreachableError(message) from exc
