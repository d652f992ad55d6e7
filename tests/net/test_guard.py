"""What may be connected to, watched at the socket: the guard is in the path, and nothing gets around it."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_network
from pathlib import Path

import httpcore
import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova_auto.core.net.address import EgressRefusedError
from kova_auto.core.net.http import FailureKind, HttpFailure, HttpRequest
from kova_auto.core.net.url import Egress, Url, parse_url
from kova_auto.net.exchange import GuardedExchange
from kova_auto.net.guard import GuardedBackend, GuardedTransport, tls_context
from kova_auto.net.resolver import NameNotFoundError, SystemResolver

TLS = tls_context()


@dataclass(frozen=True)
class Case:
    """A hostile URL, what each look-up of a name answers, and where a connection may go."""

    url: str
    dns: dict[str, list[list[str]]]
    may_connect: list[str]


LINES = (Path(__file__).parents[1] / "cases" / "urls.jsonl").read_text(encoding="utf-8").splitlines()
CASES = [Case(**json.loads(line)) for line in LINES]


@dataclass
class Dial(httpcore.AsyncNetworkBackend):
    """Note where a connection would go, and refuse it, except to the addresses in `alive`."""

    alive: tuple[str, ...] = ()
    dialled: list[str] = field(default_factory=list)
    said: bytes = b"HTTP/1.1 204 No Content\r\n\r\n"

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        self.dialled.append(host)
        if host not in self.alive:
            raise httpcore.ConnectError
        return httpcore.AsyncMockStream([self.said])


@dataclass
class Names:
    """Answer each look-up with the next list, and odd literals as a resolver does: that is the trap."""

    answers: dict[str, list[list[str]]]
    asked: int = 0

    async def resolve(self, host: str) -> Sequence[str]:
        if lists := self.answers.get(host):
            self.asked += 1
            return lists[min(self.asked, len(lists)) - 1]
        if host.startswith("localhost"):
            return ["127.0.0.1", "::1"]
        try:
            return [socket.inet_ntoa(socket.inet_aton(host))]
        except OSError as exc:
            raise NameNotFoundError(host) from exc


def post(url: Url, egress: Egress) -> HttpRequest:
    return HttpRequest("POST", url, body=b"{}", egress=egress)


@pytest.mark.parametrize("case", CASES, ids=[case.url for case in CASES])
async def test_a_request_reaches_the_addresses_it_may_and_no_other(case: Case) -> None:
    dial, egress = Dial(), Egress(allow_http=True)
    exchange = GuardedExchange(Names(case.dns), TLS, dial)
    for _ in range(2):
        try:
            await exchange.exchange(post(parse_url(case.url, egress), egress))
        except EgressRefusedError:
            continue

    assert sorted(set(dial.dialled)) == case.may_connect


@pytest.mark.parametrize("case", CASES, ids=[case.url for case in CASES])
async def test_the_guard_alone_holds_for_whatever_httpx_takes_the_host_to_be(case: Case) -> None:
    dial = Dial()
    transport = GuardedTransport(GuardedBackend((), Names(case.dns), dial), TLS)
    async with httpx.AsyncClient(transport=transport, trust_env=False) as client:
        for _ in range(2):
            try:
                await client.get(case.url)
            except (httpx.HTTPError, httpx.InvalidURL, EgressRefusedError, NameNotFoundError):
                continue

    assert sorted(set(dial.dialled)) == case.may_connect


async def test_the_system_resolver_reads_odd_literals_and_the_guard_refuses_them() -> None:
    resolver = SystemResolver()
    guard = GuardedBackend((), resolver, dial := Dial())
    for host in ("127.1", "0x7f.1", "2130706433", "0", "localhost"):
        with pytest.raises(EgressRefusedError):
            await guard.connect_tcp(host, 80)
    resolver.close()

    assert dial.dialled == []


async def test_a_name_is_resolved_once_for_a_connection() -> None:
    names = Names({"rebind.test": [["93.184.216.34"], ["127.0.0.1"]]})
    exchange = GuardedExchange(names, TLS, dial := Dial())

    await exchange.exchange(post(parse_url("https://rebind.test/", Egress()), Egress()))

    assert (names.asked, dial.dialled) == (1, ["93.184.216.34"])


async def test_a_dead_address_is_followed_by_the_next_one() -> None:
    names = Names({"two.test": [["2606:4700::1111", "93.184.216.34"]]})
    guard = GuardedBackend((), names, dial := Dial(alive=("93.184.216.34",)))

    await guard.connect_tcp("two.test", 443)

    assert dial.dialled == ["2606:4700::1111", "93.184.216.34"]


async def test_no_more_than_four_addresses_are_tried() -> None:
    names = Names({"many.test": [[f"93.184.216.{n}" for n in range(1, 10)]]})
    guard = GuardedBackend((), names, dial := Dial())

    with pytest.raises(httpcore.ConnectError):
        await guard.connect_tcp("many.test", 443)

    assert len(dial.dialled) == 4


async def test_a_network_that_is_opened_for_one_request_stays_shut_for_the_next() -> None:
    names, opened = Names({"priv.test": [["10.1.2.3"]]}), Egress(allow_cidrs=(ip_network("10.1.0.0/16"),))
    exchange = GuardedExchange(names, TLS, dial := Dial())
    url = parse_url("https://priv.test/", Egress())

    await exchange.exchange(post(url, opened))
    refused = await exchange.exchange(post(url, Egress()))

    assert dial.dialled == ["10.1.2.3"]
    assert isinstance(refused, HttpFailure)
    assert (refused.kind, refused.written) == (FailureKind.POLICY, False)


async def test_a_name_that_gives_nothing_is_a_failure_before_any_connection() -> None:
    exchange = GuardedExchange(Names({}), TLS, dial := Dial())

    failure = await exchange.exchange(post(parse_url("https://nowhere.test/", Egress()), Egress()))

    assert isinstance(failure, HttpFailure)
    assert (failure.kind, failure.written, dial.dialled) == (FailureKind.NAME, False, [])


class NoAnswer:
    """Be asked, and never answer."""

    async def resolve(self, _host: str) -> Sequence[str]:
        await asyncio.Event().wait()
        return []


async def test_the_time_a_name_takes_counts_against_the_deadline() -> None:
    request = HttpRequest("POST", parse_url("https://slow.test/", Egress()), deadline_s=0.05)

    failure = await GuardedExchange(NoAnswer(), TLS, dial := Dial()).exchange(request)

    assert failure == HttpFailure(FailureKind.DEADLINE, written=False, detail="no whole answer within 0.05 s")
    assert dial.dialled == []


HOSTS = st.from_regex(r"[a-zA-Z0-9_.:\[\]%@-]{1,20}", fullmatch=True) | st.text(max_size=12)


@given(HOSTS, st.text(max_size=20))
def test_a_url_that_is_accepted_means_the_same_host_to_httpx(host: str, rest: str) -> None:
    try:
        url = parse_url(f"https://{host}/{rest}", Egress())
    except EgressRefusedError:
        return

    theirs = httpx.URL(f"{url.origin}{url.target}")
    assert (theirs.raw_host.decode(), theirs.port or 443) == (url.host, url.port)


async def test_a_unix_socket_is_never_connected_to() -> None:
    with pytest.raises(NotImplementedError):
        await GuardedBackend((), Names({}), Dial()).connect_unix_socket("/run/any.sock")
