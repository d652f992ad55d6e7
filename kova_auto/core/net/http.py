"""Say what one HTTP exchange is: one request, one answer or the reason why there is none.

It follows no redirect, keeps no cookie, decodes nothing and tries once. Who wants more decides from what came back.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from kova_auto.core.net.url import Egress, Url

Headers = tuple[tuple[str, str], ...]
_PUBLIC_HTTPS = Egress()


@dataclass(frozen=True)
class HttpRequest:
    """Hold what is asked, and how far it may go.

    Attributes:
        headers: ASCII; Host, Content-Length, Connection and Accept-Encoding are not for the caller to set.
        deadline_s: For everything together: name, connection, request, answer.
        max_body_bytes: As much of the answer's body is kept, the rest is not read.
    """

    method: str
    url: Url
    headers: Headers = field(default=(), repr=False)
    body: bytes = field(default=b"", repr=False)
    egress: Egress = _PUBLIC_HTTPS
    deadline_s: float = 30.0
    max_body_bytes: int = 65_536


class BodyEnd(StrEnum):
    """Say why a body ends where it does."""

    COMPLETE = "complete"
    CUT = "cut"  # there was more than we keep
    BROKEN = "broken"  # the connection or the time ended first


@dataclass(frozen=True)
class HttpResponse:
    """Hold an answer: as raw as it came, so a body may be compressed if the receiver ignored what we accept.

    A receiver may echo what it was sent: neither headers nor body are shown.

    Attributes:
        headers: Names in lower case, in the order they came.
    """

    status: int
    headers: Headers = field(default=(), repr=False)
    body: bytes = field(default=b"", repr=False)
    ending: BodyEnd = BodyEnd.COMPLETE

    def header(self, name: str) -> str | None:
        """Return the first value of a header; `name` in lower case."""
        return next((value for key, value in self.headers if key == name), None)


class FailureKind(StrEnum):
    """Say at which point an exchange failed."""

    POLICY = "policy"  # a rule of ours: nothing was sent, and it never will be
    NAME = "name"  # the host's name gave no address
    CONNECT = "connect"
    TLS = "tls"
    LOST = "lost"  # the connection ended, or what came was no HTTP
    DEADLINE = "deadline"


@dataclass(frozen=True)
class HttpFailure:
    """Hold why there is no answer.

    Attributes:
        written: The request was on its way, at least in part: the receiver may have acted on it.
        detail: One line without URL or secret.
    """

    kind: FailureKind
    written: bool
    detail: str


class Exchange(Protocol):
    """Send one request to where it may go."""

    async def exchange(self, request: HttpRequest) -> HttpResponse | HttpFailure:
        """Return the answer, or why there is none; raise only when cancelled."""
        ...
