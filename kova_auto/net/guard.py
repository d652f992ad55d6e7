"""Guard the connection itself: what is checked is what is connected to.

The seam is httpcore's documented network backend. It is handed the host that is about to be connected to, after every
parser, redirect and proxy decision that could have changed it. The name stays the one TLS checks the certificate for.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterable, AsyncIterator, Iterable
from contextlib import contextmanager
from ipaddress import ip_address
from typing import TYPE_CHECKING

import certifi
import httpcore
import httpx

from kova_auto.core.net.address import check_addresses

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kova_auto.core.net.address import Network
    from kova_auto.net.resolver import Resolver

MAX_TRIED = 4


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Resolve once, check every address, and connect to one that was checked."""

    def __init__(self, allow: Sequence[Network], resolver: Resolver, dial: httpcore.AsyncNetworkBackend) -> None:
        self._allow, self._resolver, self._dial = allow, resolver, dial

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first address of `host` that answers; `timeout` holds for each.

        Raises:
            EgressRefusedError: One of its addresses must not be connected to.
            NameNotFoundError: It has none.
        """
        answers = [host] if _is_literal(host) else await self._resolver.resolve(host)
        addresses = check_addresses(host, answers, self._allow)[:MAX_TRIED]
        failure: httpcore.ConnectError | httpcore.ConnectTimeout = httpcore.ConnectError("no address")
        for address in addresses:
            try:
                return _Stream(await self._dial.connect_tcp(str(address), port, timeout, local_address, socket_options))
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as exc:
                failure = exc
        raise failure


class SpeaksTlsError(OSError):
    """Say that a port which was spoken to in plain text answered with an alert of TLS: it has understood nothing."""


class _Stream(httpcore.AsyncNetworkStream):
    """Be a connection that is closed whatever ends its handshake, and that knows who speaks TLS without being asked."""

    def __init__(self, inner: httpcore.AsyncNetworkStream) -> None:
        self._inner, self._has_begun = inner, False

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        data = await self._inner.read(max_bytes, timeout)
        if not self._has_begun and data.startswith(_ALERT):
            msg = "an alert of TLS"
            raise SpeaksTlsError(msg)
        self._has_begun = True
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        await self._inner.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> httpcore.AsyncNetworkStream:
        try:
            return await self._inner.start_tls(ssl_context, server_hostname, timeout)
        except BaseException:  # httpcore closes it only where no deadline ends the handshake.
            await self._inner.aclose()
            raise

    def get_extra_info(self, info: str) -> object:
        return self._inner.get_extra_info(info)


_ALERT = b"\x15\x03"


def _is_literal(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


class GuardedTransport(httpx.AsyncBaseTransport):
    """Carry httpx's requests over guarded connections; none is kept for a later request."""

    def __init__(self, backend: httpcore.AsyncNetworkBackend, tls: ssl.SSLContext) -> None:
        self._pool = httpcore.AsyncConnectionPool(ssl_context=tls, max_keepalive_connections=0, network_backend=backend)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request and return the answer's head; the body is streamed, as raw as it comes."""
        url = request.url
        target = httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
        stream = request.stream
        if not isinstance(stream, AsyncIterable):
            msg = "wanted a request whose body can be sent by an async transport"
            raise TypeError(msg)
        with _httpx_errors():
            answer = await self._pool.handle_async_request(
                httpcore.Request(
                    request.method, target, headers=request.headers.raw, content=stream, extensions=request.extensions
                )
            )
        return httpx.Response(answer.status, headers=answer.headers, stream=_Body(answer), extensions=answer.extensions)

    async def aclose(self) -> None:
        """Close what is still open."""
        await self._pool.aclose()


class _Body(httpx.AsyncByteStream):
    def __init__(self, answer: httpcore.Response) -> None:
        self._answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _httpx_errors():
            async for part in self._answer.aiter_stream():
                yield part

    async def aclose(self) -> None:
        await self._answer.aclose()


# The most specific first: `httpcore`'s own families overlap.
_ERRORS: tuple[tuple[type[Exception], type[httpx.TransportError]], ...] = (
    (httpcore.ConnectTimeout, httpx.ConnectTimeout),
    (httpcore.ReadTimeout, httpx.ReadTimeout),
    (httpcore.WriteTimeout, httpx.WriteTimeout),
    (httpcore.ConnectError, httpx.ConnectError),
    (httpcore.ReadError, httpx.ReadError),
    (httpcore.WriteError, httpx.WriteError),
    (httpcore.LocalProtocolError, httpx.LocalProtocolError),
    (httpcore.RemoteProtocolError, httpx.RemoteProtocolError),
)


@contextmanager
def _httpx_errors() -> Iterator[None]:
    try:
        yield
    except (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError) as exc:
        wanted = next((theirs for ours, theirs in _ERRORS if isinstance(exc, ours)), httpx.TransportError)
        raise wanted(type(exc).__name__) from exc


def tls_context() -> ssl.SSLContext:
    """Return what verifies receivers: the bundled authorities, whatever the environment says; build it once.

    `ssl.create_default_context` would heed SSL_CERT_FILE and write session keys to SSLKEYLOGFILE.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_verify_locations(certifi.where())
    return context
