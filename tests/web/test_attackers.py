"""What an attacker sends, byte by byte: the same short no, and nothing is kept, held up or written down of it."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from kova_auto.core.inbound.request import Headers
from tests.app.houses import Home
from tests.doubles.clock import HandClock
from tests.web.outside import PUSH, Outside, Reply, a_home, a_hook, outside

BODY = json.dumps(PUSH).encode()
NO = Reply(401, {}, '{"error": "unauthorized"}\n')


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = a_home(tmp_path)
    a_hook(home)
    return home


@pytest.fixture
async def sender(home: Home) -> AsyncIterator[Outside]:
    async with home.house(HandClock()) as house, outside(house) as found:
        yield found


def forged(sender: Outside, what: str) -> Headers:
    """Return headers of which something is wrong."""
    good = sender.signed(BODY)
    proof = dict(good)[b"x-hub-signature-256"]
    others = tuple(pair for pair in good if pair[0] != b"x-hub-signature-256")
    return {
        "wrong": (*others, (b"x-hub-signature-256", b"sha256=" + b"0" * 64)),
        "missing": others,
        "repeated": (*good, (b"x-hub-signature-256", proof)),
        "repeated without dashes": (*good, (b"X-Hub-Signature-256", proof[:-1] + b"0")),
        "folded": (*others, (b"x-hub-signature-256", proof[:40] + b"\r\n " + proof[40:])),
        "of another body": sender.signed(BODY + b" "),
        "of another secret": sender.signed(BODY, "slack"),
        "sha1": (*others, (b"x-hub-signature", b"sha1=" + b"0" * 40)),
        "empty": (*others, (b"x-hub-signature-256", b"")),
        "no id": tuple(pair for pair in good if pair[0] != b"x-github-delivery"),
        "no event": tuple(pair for pair in good if pair[0] != b"x-github-event"),
    }[what]


@pytest.mark.parametrize(
    "what",
    [
        *("wrong", "missing", "repeated", "repeated without dashes", "folded", "of another body", "of another secret"),
        *("sha1", "empty", "no id", "no event"),
    ],
)
async def test_whatever_is_wrong_with_the_proof_the_answer_is_the_same(sender: Outside, what: str) -> None:
    reply = await sender.send(BODY, forged(sender, what))

    assert (reply.status, reply.text) == (NO.status, NO.text)
    assert {*reply.headers} == {
        "cache-control",
        "connection",
        "content-length",
        "content-type",
        "x-content-type-options",
    }
    assert (await sender.rows(), sender.rung) == ([], [])


@pytest.mark.parametrize("data", [BODY[:-1], BODY + b" ", BODY.replace(b"main", b"mail"), b""])
async def test_a_body_that_was_changed_on_its_way_is_not_believed(sender: Outside, data: bytes) -> None:
    assert (await sender.send(data, sender.signed(BODY))).text == NO.text


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "BREW"])
@pytest.mark.parametrize("path", ["/hooks/deploy", "/hooks/nobody"])
async def test_only_a_post_may_do_anything(sender: Outside, method: str, path: str) -> None:
    reply = await sender.send(b"", method=method, path=path)

    assert (reply.status, reply.headers["allow"], await sender.rows()) == (405, "POST", [])


@pytest.mark.parametrize(
    "path",
    [
        *("/hooks/nobody", "/hooks/byhand", "/hooks/deploy/", "/hooks/", "/hooks", "/", "/hooks/deploy/x"),
        *("/hooks/..%2fdeploy", "/hooks/%00", "//hooks/deploy", "/hooks/DEPLOY", "/answer/x", "/docs"),
    ],
)
async def test_what_is_not_there_is_not_found_in_the_same_shape(home: Home, path: str) -> None:
    home.job("byhand")
    async with home.house(HandClock()) as house, outside(house) as sender:
        reply = await sender.send(BODY, path=path)

    assert (reply.status, reply.text) == (404, '{"error": "not found"}\n')


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        *(("text/plain", ""), ("", ""), ("multipart/form-data", ""), ("application/xml", "")),
        ("application/json", "Content-Encoding: gzip\r\n"),
        ("application/json", "Content-Type: text/plain\r\n"),
    ],
)
async def test_what_is_neither_json_nor_a_form_is_refused(sender: Outside, kind: str, more: str) -> None:
    reply = await sender.send(BODY, kind=kind, more=more)
    assert (reply.status, await sender.rows()) == (415, [])


async def test_a_packed_body_is_never_unpacked(sender: Outside) -> None:
    packed = gzip.compress(BODY)
    assert (await sender.send(packed, more="Content-Encoding: gzip\r\n")).status == 415
    assert (await sender.send(packed)).status == 400


async def test_what_comes_behind_a_request_is_not_taken_for_another(sender: Outside) -> None:
    lines = b"".join(b"%s: %s\r\n" % pair for pair in sender.signed(BODY))
    head = b"POST /hooks/deploy HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
    one = head % len(BODY) + lines + b"\r\n" + BODY
    reply = await sender.raw(one + one.replace(b"id-1", b"id-2"))

    assert reply.text.count("accepted") == 1
    assert len(await sender.rows()) == 1


@pytest.mark.parametrize("size", [1_048_576, 1_048_577])
async def test_a_body_has_at_most_a_mebibyte(sender: Outside, size: int) -> None:
    data = b'{"ref": "' + b"x" * (size - 11) + b'"}'
    reply = await sender.send(data)

    assert (len(data), reply.status) == (size, 202 if size == 1_048_576 else 413)


async def test_a_chunked_body_ends_where_it_becomes_too_long(sender: Outside) -> None:
    head = b"POST /hooks/deploy HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
    huge = b"\r\n3fffffff\r\n" + b"x" * 1_100_000

    assert (await sender.raw(head, huge)).status == 413


async def test_a_chunked_body_is_a_body(sender: Outside) -> None:
    lines = b"".join(b"%s: %s\r\n" % pair for pair in sender.signed(BODY))
    head = b"POST /hooks/deploy HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (BODY[:7], BODY[7:]))

    assert (await sender.raw(head + lines + b"\r\n", chunks + b"0\r\n\r\n")).status == 202


async def test_whoever_asks_before_he_sends_is_told_no_without_sending(sender: Outside) -> None:
    head = b"POST /hooks/deploy HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n"
    assert (await sender.raw(head + b"Content-Length: 2000000\r\n\r\n")).status == 413


async def test_whoever_asks_before_he_sends_is_let_in(sender: Outside) -> None:
    reply = await sender.send(BODY, more="Expect: 100-continue\r\n")
    assert reply.status == 202


@pytest.mark.parametrize(
    "head",
    [
        b"POST /hooks/deploy HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /hooks/deploy HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        b"POST /hooks/deploy HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"POST /hooks/deploy HTTP/1.1\r\nHost: x\r\nA: " + b"x" * 20_000 + b"\r\n\r\n",
        b"POST /hooks/deploy HTTP/1.1\r\nHost: x\r\n" + b"A: b\r\n" * 5_000 + b"\r\n",
    ],
)
async def test_what_is_no_proper_request_harms_nothing(sender: Outside, head: bytes) -> None:
    assert (await sender.raw(head)).status in {400, 415}
    assert (await sender.send(BODY)).status == 202


@pytest.mark.parametrize(
    "parts",
    [
        (b"POST /hooks/deploy HTTP/1.1\r\nHost:",),
        (b"",),
        (b"POST /hooks/deploy HTTP/1.1\r\nHost: x\r\n", b"A: b\r\n"),
    ],
)
async def test_whoever_never_ends_his_head_is_hung_up_on(home: Home, parts: tuple[bytes, ...]) -> None:
    async with home.house(HandClock()) as house, outside(house, head_s=0.2) as sender:
        (found,) = await asyncio.gather(sender.raw(*parts), return_exceptions=True)

    assert isinstance(found, ConnectionError) or found == Reply(0, {}, "")


async def test_whoever_never_ends_his_body_is_told_so(home: Home) -> None:
    head = b"POST /hooks/deploy HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
    async with home.house(HandClock()) as house, outside(house, body_s=0.2) as sender:
        assert (await sender.raw(head)).status == 408


async def test_there_are_only_so_many_connections_at_once(home: Home) -> None:
    async with home.house(HandClock()) as house, outside(house, most=3) as sender:
        idle = [await asyncio.open_connection("127.0.0.1", sender.port) for _ in range(3)]
        await asyncio.sleep(0)
        full = await sender.send(BODY)
        for _, writer in idle:
            writer.close()
            await writer.wait_closed()
        assert (full.status, full.json) == (503, {"error": "try again"})
        later = full
        while later.status == 503:  # Until the listener has noticed that they are gone.
            later = await sender.send(BODY)
        assert later.status == 202


async def test_the_end_waits_for_nobody_who_is_silent(home: Home) -> None:
    async with home.house(HandClock()) as house:
        async with outside(house) as sender:
            reader, writer = await asyncio.open_connection("127.0.0.1", sender.port)
            writer.write(b"POST /hooks/deploy HTTP/1.1\r\n")
            await writer.drain()
        (found,) = await asyncio.gather(reader.read(), return_exceptions=True)
        writer.close()

    assert isinstance(found, ConnectionError) or found == b""


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 10_000 + b"]" * 10_000,
        b'{"ref": "a", "ref": "b"}',
        b'{"ref": NaN}',
        b"not json",
        b"\xff\xfe",
        b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    ],
)
async def test_a_believed_body_that_cannot_be_read_is_refused_with_a_reason(sender: Outside, data: bytes) -> None:
    reply = await sender.send(data)

    assert (reply.status, await sender.rows()) == (400, [])
    assert str(reply.json["error"]).startswith("bad request: ")


async def test_what_a_proxy_says_is_not_believed(sender: Outside, caplog: pytest.LogCaptureFixture) -> None:
    spoof = "X-Forwarded-For: 10.9.8.7\r\nX-Forwarded-Host: evil.example\r\nForwarded: for=10.9.8.7\r\n"
    with caplog.at_level(logging.DEBUG):
        assert (await sender.send(BODY, (), more=spoof)).status == 401
    assert "10.9.8.7" not in caplog.text


async def test_refusals_are_said_once_a_minute_with_their_number(home: Home, caplog: pytest.LogCaptureFixture) -> None:
    clock = HandClock()
    async with home.house(clock) as house, outside(house) as sender:
        with caplog.at_level(logging.WARNING):
            for _ in range(50):
                await sender.send(BODY, ())
            clock.instant += timedelta(seconds=61)
            await sender.send(BODY, ())
    said = [record.getMessage() for record in caplog.records if "refused" in record.getMessage()]

    assert len(said) == 2
    assert said[1].endswith("(49 more before it)")


async def test_a_path_is_in_no_log(sender: Outside, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        await sender.send(BODY, path="/hooks/a-path-of-my-own")
        await sender.raw(b"GET /hooks/a-path-of-my-own\r\n\r\n")
    assert "a-path-of-my-own" not in caplog.text
