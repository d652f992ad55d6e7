"""Perform one HTTP exchange and say how far it came.

The transport is used without an `httpx` client: what a client adds (cookies, redirects, `.netrc`, proxies from the
environment, decoding, a log line with the URL) is what must not happen here.
"""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import httpcore
import httpx

from kova_auto import __version__
from kova_auto.core.net.address import EgressRefusedError
from kova_auto.core.net.http import BodyEnd, FailureKind, HttpFailure, HttpRequest, HttpResponse
from kova_auto.net.guard import GuardedBackend, GuardedTransport, SpeaksTlsError, tls_context
from kova_auto.net.resolver import NameNotFoundError, Resolver, SystemResolver

CONNECT_TIMEOUT_S: Final = 5.0
_CHATTY = ("httpx", "httpcore", "hpack")


class GuardedExchange:
    """Exchange one request for one answer within its deadline, over a guarded connection of its own."""

    def __init__(
        self,
        resolver: Resolver | None = None,
        tls: ssl.SSLContext | None = None,
        dial: httpcore.AsyncNetworkBackend | None = None,
    ) -> None:
        """Build what every exchange shares, and silence the loggers that would write down whole URLs.

        Args:
            resolver: Asked once for each connection; default: the system's.
            tls: What verifies receivers; default: `tls_context()`.
            dial: What opens the checked address; default: plain sockets.
        """
        self._resolver = resolver or SystemResolver()
        self._given_tls = tls
        self._dial = dial or httpcore.AnyIOBackend()
        for name in _CHATTY:
            logging.getLogger(name).setLevel(logging.WARNING)

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        """Return what verifies receivers; most commands build an exchange and never use it."""
        return self._given_tls or tls_context()

    async def exchange(self, request: HttpRequest) -> HttpResponse | HttpFailure:
        """Return the answer as far as it came, or at which point there ceased to be one."""
        seen = _Progress(request.max_body_bytes)
        tls = self._tls  # made before the time of an exchange begins
        try:
            async with asyncio.timeout(request.deadline_s):
                await self._talk(request, seen, tls)
        except TimeoutError:
            detail = f"no whole answer within {request.deadline_s:g} s"
            return seen.answer(BodyEnd.BROKEN) or HttpFailure(FailureKind.DEADLINE, seen.written, detail)
        except (httpx.TransportError, EgressRefusedError, NameNotFoundError, OSError) as exc:
            return seen.answer(BodyEnd.BROKEN) or _failure(exc, written=seen.written, in_tls=seen.in_tls)
        return seen.answer(BodyEnd.COMPLETE) or HttpFailure(FailureKind.LOST, seen.written, _LOST)

    async def _talk(self, request: HttpRequest, seen: _Progress, tls: ssl.SSLContext) -> None:
        backend = GuardedBackend(request.egress.allow_cidrs, self._resolver, self._dial)
        async with GuardedTransport(backend, tls) as transport:
            response = await transport.handle_async_request(_spell(request, seen))
            seen.head(response)
            async with aclosing(response):
                async for part in response.aiter_raw():
                    if not seen.take(part):
                        return


@dataclass
class _Progress:
    """Remember how far an exchange came, for when it ends half-way."""

    room: int
    in_tls: bool = False
    written: bool = False
    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    body: bytearray = field(default_factory=bytearray)
    cut: bool = False

    async def trace(self, event: str, _info: Mapping[str, object]) -> None:
        """Be told by httpcore's documented `trace` extension what happens next."""
        if event == "connection.start_tls.started":
            self.in_tls = True
        elif event == "http11.send_request_headers.started":
            self.written = True

    def head(self, response: httpx.Response) -> None:
        self.status = response.status_code
        raw = response.headers.raw
        self.headers = tuple((name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in raw)

    def take(self, part: bytes) -> bool:
        """Keep what there is room for; say whether more is wanted."""
        left = self.room - len(self.body)
        self.body += part[:left]
        self.cut = self.cut or len(part) > left
        return not self.cut

    def answer(self, ending: BodyEnd) -> HttpResponse | None:
        if self.status is None:
            return None
        return HttpResponse(self.status, self.headers, bytes(self.body), BodyEnd.CUT if self.cut else ending)


def _spell(request: HttpRequest, seen: _Progress) -> httpx.Request:
    url = request.url
    ours = [("User-Agent", f"kova-auto/{__version__}"), ("Accept-Encoding", "identity"), ("Connection", "close")]
    waits = {"connect": CONNECT_TIMEOUT_S, **dict.fromkeys(("read", "write", "pool"), request.deadline_s)}
    return httpx.Request(
        request.method,
        f"{url.origin}{url.target}",
        headers=[*ours, *request.headers],
        content=request.body or None,
        extensions={"timeout": waits, "trace": seen.trace},
    )


_LOST = "the connection ended before an answer, or what came was no HTTP"


def _failure(exc: Exception, *, written: bool, in_tls: bool) -> HttpFailure:
    """Say in our own words what happened: foreign texts may hold what must not be shown."""
    if isinstance(exc, EgressRefusedError):
        return HttpFailure(FailureKind.POLICY, written=False, detail=str(exc))
    if isinstance(exc, NameNotFoundError):
        return HttpFailure(FailureKind.NAME, written=False, detail=str(exc))
    if isinstance(exc, SpeaksTlsError):
        detail = "the receiver speaks TLS on this port: its address begins with https"
        return HttpFailure(FailureKind.TLS, written=False, detail=detail)
    if written:
        return HttpFailure(FailureKind.LOST, written=True, detail=_LOST)
    causes = list(_causes(exc))
    if in_tls:
        return HttpFailure(FailureKind.TLS, written=False, detail=_tls_detail(causes))
    return HttpFailure(FailureKind.CONNECT, written=False, detail=_connect_detail(causes))


def _causes(exc: BaseException) -> list[BaseException]:
    chain = [exc]
    while cause := chain[-1].__cause__ or chain[-1].__context__:
        chain.append(cause)
    return chain


def _tls_detail(causes: list[BaseException]) -> str:
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"the receiver's certificate was refused: {cause.verify_message}"
    return "no TLS connection: does the receiver speak https on this port?"


def _connect_detail(causes: list[BaseException]) -> str:
    for cause in causes:
        if isinstance(cause, OSError) and cause.errno:
            return f"no connection: {os.strerror(cause.errno).lower()}"
    return f"no connection within {CONNECT_TIMEOUT_S:g} s"
