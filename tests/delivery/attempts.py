"""Make one attempt at a real receiver on loopback."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from ipaddress import ip_network

from kova_auto.core.delivery.format import Rendered, Wish
from kova_auto.core.delivery.notice import EndpointTest
from kova_auto.core.delivery.outcome import AttemptResult
from kova_auto.core.delivery.payload import render
from kova_auto.core.delivery.signature import parse_secret, spell_secret
from kova_auto.core.delivery.target import FormatName, Target
from kova_auto.core.net.address import Network
from kova_auto.delivery.sender import send
from kova_auto.net.exchange import GuardedExchange
from tests.support.chaos import Names

NOW = datetime(2026, 12, 1, 7, 0, tzinfo=UTC)
SECRET = parse_secret(spell_secret(b"s" * 32))
LOOPBACK: tuple[Network, ...] = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
SOON_S, LONG_S = 1.0, 60.0
"""Soon is late enough for a request and the beginning of an answer on a machine that does much besides."""
ID = "msg_chaos"


def target(url: str, name: FormatName = FormatName.STANDARD, *, timeout_s: float = LONG_S) -> Target:
    secrets = (SECRET,) if name is FormatName.STANDARD else ()
    return Target("ci", name, url, secrets, allow_http=True, allow_cidrs=LOOPBACK, timeout_s=timeout_s)


def message(name: FormatName = FormatName.STANDARD) -> Rendered:
    return render(name, EndpointTest(endpoint="ci", sent_at=NOW), Wish(ID))


async def attempt(
    url: str,
    name: FormatName = FormatName.STANDARD,
    *,
    timeout_s: float = LONG_S,
    names: Names | None = None,
    tls: ssl.SSLContext | None = None,
    what: Rendered | None = None,
    now: datetime = NOW,
) -> AttemptResult:
    exchange = GuardedExchange(names or Names({"localhost": [["127.0.0.1"]]}), tls)
    place = target(url, name, timeout_s=timeout_s)
    return await send(exchange, place, what or message(name), delivery_id=ID, now=now)
