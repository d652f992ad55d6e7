"""Open connections to one provider, and say in our own words what became of them.

No client of httpx is used: no redirect, no cookie, no proxy of the environment, no log line.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator

import certifi
import httpx

from kova_auto.core.provider import Provider
from kova_auto.llm.http1 import Http1Transport


def open_transport(provider: Provider) -> Http1Transport:
    """Return what keeps connections; whoever opens it closes it."""
    return Http1Transport(_tls_context(provider))


def _tls_context(provider: Provider) -> ssl.SSLContext:
    """Return what verifies the provider: the bundled authorities, whatever the environment says."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    if provider.base_url.lower().startswith("https"):  # Reading them takes a while, and plain http needs none.
        context.load_verify_locations(certifi.where())
    return context


def said_of(exc: httpx.TransportError) -> str:
    """Say what happened: foreign texts may hold what must not be shown."""
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
