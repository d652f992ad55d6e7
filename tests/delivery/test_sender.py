"""One attempt: what is sent, to where it may go, and what is made of the answer."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from dataclasses import dataclass, field
from datetime import UTC, datetime
from ipaddress import ip_network

import pytest

from kova_auto.core.delivery.format import Rendered, Wish
from kova_auto.core.delivery.notice import EndpointTest
from kova_auto.core.delivery.outcome import AttemptOutcome, AttemptResult
from kova_auto.core.delivery.payload import render
from kova_auto.core.delivery.signature import SigningSecret, parse_secret, spell_secret, verify
from kova_auto.core.delivery.target import FormatName, Target
from kova_auto.core.errors import ConfigError
from kova_auto.core.net.address import Network
from kova_auto.core.net.http import FailureKind, HttpFailure, HttpRequest, HttpResponse
from kova_auto.core.net.url import Egress, Url
from kova_auto.delivery.receiver import Received, Receiver
from kova_auto.delivery.sender import send
from kova_auto.net.exchange import GuardedExchange

NOW = datetime(2026, 12, 1, 7, 0, tzinfo=UTC)
LATER = datetime(2026, 12, 1, 7, 10, tzinfo=UTC)
OLD, NEW = parse_secret(spell_secret(b"o" * 24)), parse_secret(spell_secret(b"n" * 32))
LOOPBACK = (ip_network("127.0.0.1/32"),)
ID = "msg_abc"


@dataclass
class Scripted:
    """Answer with what was scripted, and keep what was asked."""

    reply: HttpResponse | HttpFailure = field(default_factory=lambda: HttpResponse(204))
    asked: list[HttpRequest] = field(default_factory=list)

    async def exchange(self, request: HttpRequest) -> HttpResponse | HttpFailure:
        self.asked.append(request)
        return self.reply


def standard(
    url: str = "https://ci.example.org/hooks?k=s3cr3t",
    *,
    secrets: tuple[SigningSecret, ...] = (NEW,),
    allow_http: bool = False,
    allow_cidrs: tuple[Network, ...] = (),
    timeout_s: float = 30.0,
) -> Target:
    """Return a target that takes signed messages."""
    return Target("ci", FormatName.STANDARD, url, secrets, allow_http, allow_cidrs, timeout_s)


def slack(url: str = "https://hooks.slack.com/services/s3cr3t") -> Target:
    return Target("team", FormatName.SLACK, url)


def message(name: FormatName = FormatName.STANDARD) -> Rendered:
    return render(name, EndpointTest(endpoint="ci", sent_at=NOW), Wish(ID))


async def test_a_message_is_signed_for_this_attempt_and_goes_where_it_should() -> None:
    world = Scripted()

    result = await send(world, standard(timeout_s=7.0), message(), delivery_id=ID, now=NOW)

    assert result == AttemptResult(AttemptOutcome.DELIVERED, "the receiver answered 204 (No Content)", 204)
    (request,) = world.asked
    assert (request.method, request.url, request.body, request.egress, request.deadline_s) == (
        "POST",
        Url("https", "ci.example.org", 443, "/hooks?k=s3cr3t"),
        message().body,
        Egress(),
        7.0,
    )
    assert [name for name, _ in request.headers] == [
        "Content-Type",
        "webhook-id",
        "webhook-timestamp",
        "webhook-signature",
    ]
    assert verify([NEW], dict(request.headers), request.body, now_s=NOW.timestamp()) is None


async def test_a_later_attempt_keeps_id_and_body_and_is_signed_anew() -> None:
    world = Scripted()
    for now in (NOW, LATER):
        await send(world, standard(), message(), delivery_id=ID, now=now)

    first, second = (dict(request.headers) for request in world.asked)
    assert (first["webhook-id"], world.asked[0].body) == (second["webhook-id"], world.asked[1].body)
    assert verify([NEW], second, world.asked[1].body, now_s=LATER.timestamp()) is None
    assert first["webhook-signature"] != second["webhook-signature"]


async def test_while_a_secret_is_replaced_both_sign() -> None:
    world = Scripted()

    await send(world, standard(secrets=(NEW, OLD)), message(), delivery_id=ID, now=NOW)

    headers, body = dict(world.asked[0].headers), world.asked[0].body
    assert [verify([secret], headers, body, now_s=NOW.timestamp()) for secret in (NEW, OLD)] == [None, None]


async def test_a_signed_format_without_a_secret_names_the_setting_and_sends_nothing() -> None:
    world = Scripted()

    with pytest.raises(ConfigError) as caught:
        await send(world, standard(secrets=()), message(), delivery_id=ID, now=NOW)

    assert (caught.value.key, world.asked) == ("endpoints.ci.secret", [])


async def test_slack_is_sent_unsigned_and_judged_by_its_own_rule() -> None:
    world = Scripted(HttpResponse(200, (), b"invalid_blocks"))

    result = await send(world, slack(), message(FormatName.SLACK), delivery_id=ID, now=NOW)

    assert result.outcome is AttemptOutcome.BAD_PAYLOAD
    assert world.asked[0].headers == (("Content-Type", "application/json"),)


@pytest.mark.parametrize(
    "target",
    [
        standard("http://ci.example.org/s3cr3t"),
        standard("https://10.1.2.3/s3cr3t"),
        standard("https://user:s3cr3t@example.org/"),
        standard("https://169.254.169.254/", allow_cidrs=(ip_network("0.0.0.0/0"),)),
    ],
    ids=["plain http", "private", "user name", "metadata"],
)
async def test_a_url_that_must_not_be_asked_for_is_blocked_and_not_repeated(target: Target) -> None:
    world = Scripted()

    result = await send(world, target, message(), delivery_id=ID, now=NOW)

    assert (result.outcome, world.asked) == (AttemptOutcome.POLICY_BLOCK, [])
    assert "s3cr3t" not in repr((result, target))


@pytest.mark.parametrize(
    ("failure", "outcome"),
    [
        (HttpFailure(FailureKind.CONNECT, written=False, detail="no connection"), AttemptOutcome.NOT_SENT),
        (HttpFailure(FailureKind.LOST, written=True, detail="lost"), AttemptOutcome.AMBIGUOUS),
    ],
)
async def test_it_is_known_whether_the_receiver_may_have_it(failure: HttpFailure, outcome: AttemptOutcome) -> None:
    result = await send(Scripted(failure), standard(), message(), delivery_id=ID, now=NOW)

    assert result.outcome is outcome


def listening(receiver: Receiver, secret: SigningSecret = NEW) -> Target:
    return standard(receiver.url, secrets=(secret,), allow_http=True, allow_cidrs=LOOPBACK)


async def test_what_is_sent_over_a_real_connection_is_verified_at_the_other_end() -> None:
    async with Receiver([OLD, NEW], lambda: NOW) as there:
        result = await send(GuardedExchange(), listening(there), message(), delivery_id=ID, now=NOW)
        (received,) = await there.wait_for(1)

    assert (result.outcome, result.status) == (AttemptOutcome.DELIVERED, 204)
    assert (received.verified, received.path, received.headers["webhook-id"]) == (True, "/", ID)
    assert json.loads(received.body) == json.loads(message().body)


@pytest.mark.parametrize(
    ("secret", "sent_at", "problem"),
    [
        (OLD, NOW, "no signature fits"),
        (NEW, LATER, "the timestamp is in the future"),
    ],
)
async def test_a_signature_that_is_not_good_is_refused_and_shown(
    secret: SigningSecret, sent_at: datetime, problem: str
) -> None:
    async with Receiver([NEW], lambda: NOW) as there:
        target = listening(there, secret)
        result = await send(GuardedExchange(), target, message(), delivery_id=ID, now=sent_at)

    assert (result.outcome, result.status) == (AttemptOutcome.BAD_PAYLOAD, 400)
    assert [(received.verified, received.problem) for received in there.received] == [(False, problem)]


async def test_nothing_secret_is_logged_or_returned_when_nobody_listens(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{held.getsockname()[1]}/s3cr3t?k=s3cr3t"
        target = standard(url, allow_http=True, allow_cidrs=LOOPBACK)
        result = await send(GuardedExchange(), target, message(), delivery_id=ID, now=NOW)

    assert (result.outcome, result.detail) == (AttemptOutcome.NOT_SENT, "no connection: connection refused")
    assert "s3cr3t" not in caplog.text + repr((result, target))


def port_of(receiver: Receiver) -> int:
    return int(receiver.url.rsplit(":", 1)[1].rstrip("/"))


async def spoken(receiver: Receiver, *parts: bytes) -> bytes:
    """Say something to a receiver and return all that it answers."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port_of(receiver))
    try:
        for part in parts:
            writer.write(part)
        writer.write_eof()
        return await reader.read()
    finally:
        writer.close()


@pytest.mark.parametrize(
    ("said", "status", "problem"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", b"405", "the method is GET, wanted POST"),
        (b"POST / HTTP/1.1\r\n\r\n", b"411", "the body's length is missing or malformed"),
        (b"POST / HTTP/1.1\r\ncontent-length: -1\r\n\r\n", b"411", "the body's length is missing or malformed"),
        (b"POST / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 1\r\n\r\na", b"411",
         "the body's length is missing or malformed"),
        (b"POST / HTTP/1.1\r\ncontent-length: 1000001\r\n\r\n", b"413", "the body is longer than 1000000 bytes"),
        (b"POST /p HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", b"400",
         "a webhook-id, webhook-timestamp or webhook-signature header is missing or malformed"),
    ],
)  # fmt: skip
async def test_what_is_no_signed_message_is_answered_and_kept(said: bytes, status: bytes, problem: str) -> None:
    async with Receiver([NEW], lambda: NOW) as there:
        answer = await spoken(there, said)

    assert answer.split(b" ")[1] == status
    assert [received.problem for received in there.received] == [problem]


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"\x16\x03\x01",
        b"GET",
        b"POST / HTTP/1.1\r\na: " + b"b" * 40_000,
        b"POST / HTTP/1.1\r\ncontent-length: 9\r\n\r\nhalf",
    ],
)
async def test_what_is_no_request_gets_no_answer_and_stops_nobody(said: bytes) -> None:
    async with Receiver([NEW], lambda: NOW) as there:
        answer = await spoken(there, said)
        result = await send(GuardedExchange(), listening(there), message(), delivery_id=ID, now=NOW)

    assert (answer, result.status, len(there.received)) == (b"", 204, 1)


async def test_two_headers_of_one_name_are_not_taken_for_one() -> None:
    world = Scripted()
    await send(world, standard(), message(), delivery_id=ID, now=NOW)
    ((_, *signed), body) = (world.asked[0].headers, world.asked[0].body)
    head = "".join(f"{name}: {value}\r\n" for name, value in [*signed, *signed])
    async with Receiver([NEW], lambda: NOW) as there:
        await spoken(there, f"POST / HTTP/1.1\r\ncontent-length: {len(body)}\r\n{head}\r\n".encode(), body)

    assert [received.verified for received in there.received] == [False]


async def test_a_caller_who_says_nothing_does_not_keep_a_receiver_from_closing() -> None:
    async with Receiver([NEW], lambda: NOW) as there:
        reader, writer = await asyncio.open_connection("127.0.0.1", port_of(there))
        await send(GuardedExchange(), listening(there), message(), delivery_id=ID, now=NOW)

    assert await reader.read() == b""
    writer.close()


def test_a_receiver_has_an_address_only_while_it_listens() -> None:
    with pytest.raises(RuntimeError, match="async with"):
        _ = Receiver([NEW], lambda: NOW).url


def test_a_request_that_was_refused_is_not_verified() -> None:
    assert [Received("/", {}, b"", problem).verified for problem in ("", "no signature fits")] == [True, False]
