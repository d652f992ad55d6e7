"""What a command's proxy lets through, watched from both ends; everything is on loopback."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from kova_auto.net.proxy import MAX_TOLD, Bounds, Proxy
from tests.net.proxied import BOUNDS, Names, a_door, a_server, ask, opened

HERE = {"pypi.example": ["127.0.0.1"], "files.pypi.example": ["127.0.0.1"]}


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send back what comes, and end when the other side has."""
    while chunk := await reader.read(65536):
        writer.write(chunk)
        await writer.drain()
    writer.close()


async def hello(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer one request with what was asked."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = next((int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
    body = head + await reader.readexactly(length)
    writer.write(
        b"HTTP/1.1 200 OK\r\nKeep-Alive: 5\r\nConnection: keep-alive\r\nContent-Length: %d\r\n\r\n" % len(body)
    )
    writer.write(body)
    await writer.drain()


async def test_a_tunnel_carries_bytes_both_ways() -> None:
    async with a_server(echo) as port, a_door((f"*.pypi.example:{port}",), HERE) as (door, way):
        reader, writer = await asyncio.open_connection("127.0.0.1", way)
        writer.write(b"CONNECT files.pypi.example:%d HTTP/1.1\r\nHost: files.pypi.example\r\n\r\nearly" % port)
        head = await reader.readuntil(b"\r\n\r\n")
        writer.write(b" and late" * 100_000)
        writer.write_eof()
        back = await reader.read()
        writer.close()
    assert (head, back, door.told()) == (
        b"HTTP/1.1 200 Connection established\r\n\r\n",
        b"early" + b" and late" * 100_000,
        (),
    )


async def test_a_plain_request_is_asked_in_the_proxys_place() -> None:
    async with a_server(hello) as port, a_door((f"pypi.example:{port}",), HERE) as (door, way):
        request = (
            b"POST http://pypi.example:%d/simple?q=1#part HTTP/1.1\r\nHost: pypi.example:%d\r\n"
            b"Proxy-Authorization: Basic x\r\nProxy-Connection: keep-alive\r\nConnection: X-Hop\r\nX-Hop: 1\r\n"
            b"X-Kept: 1\r\nContent-Length: 4\r\n\r\nbody"
        )
        answer = await ask(way, request % (port, port))
    head, _, seen = answer.partition(b"\r\n\r\n")
    assert seen == (
        b"POST /simple?q=1 HTTP/1.1\r\nHost: pypi.example:%d\r\nX-Kept: 1\r\nContent-Length: 4\r\n"
        b"Connection: close\r\n\r\nbody" % port
    )
    assert head.split(b"\r\n") == [
        b"HTTP/1.1 200 OK", b"Content-Length: %d" % len(seen), b"Connection: close"
    ]  # fmt: skip
    assert door.told() == ()


@pytest.mark.parametrize("named", [b"Host: evil.org", b"Host: evil.org\r\nHost: pypi.example", b"hOST: evil.org:443"])
async def test_a_server_is_asked_for_the_host_that_was_judged(named: bytes) -> None:
    async with a_server(hello) as port, a_door((f"pypi.example:{port}",), HERE) as (_, way):
        answer = await ask(way, b"GET http://PyPI.example:%d/ HTTP/1.1\r\n%s\r\n\r\n" % (port, named))
    assert b"evil" not in answer
    assert answer == b"" or b"\r\nHost: pypi.example:%d\r\n" % port in answer


async def test_nothing_rides_on_a_request_that_was_judged() -> None:
    asked: list[bytes] = []

    async def note(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        asked.append(await reader.read())

    async with a_server(note) as port, a_door((f"pypi.example:{port}",), HERE) as (_, way):
        first = b"GET http://pypi.example:%d/ HTTP/1.1\r\nHost: pypi.example\r\n\r\n" % port
        answer = await ask(way, first + b"GET http://evil.org/ HTTP/1.1\r\nHost: evil.org\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 204 ")
    assert [b"evil" in text for text in asked] == [False, False]


@pytest.mark.parametrize(
    ("request_line", "told"),
    [
        ("CONNECT evil.org:443", "evil.org is not listed in [permissions] network"),
        ("GET http://evil.org/", "evil.org is not listed in [permissions] network"),
        ("CONNECT pypi.example:22", "pypi.example:22 is not listed in [permissions] network"),
        ("CONNECT 127.0.0.1:443", "127.0.0.1 is or answers with a loopback address, which must not be connected to"),
        ("CONNECT [::1]:443", "::1 is or answers with a loopback address, which must not be connected to"),
        ("CONNECT 2130706433:443", "an IPv4 address must be written as four plain decimal numbers"),
        ("CONNECT pypi.example", "wanted a host and a port from 1 to 65535"),
        ("GET https://pypi.example/", "a proxy is asked for http://host/ or by CONNECT host:port"),
        ("GET /", "a proxy is asked for http://host/ or by CONNECT host:port"),
        ("GET http://u:p@pypi.example/", "a URL must not carry a user name or password"),
        ("GET http://gone.pypi.example/", "the name gone.pypi.example gave no address"),
        (
            "GET http://inner.pypi.example/",
            "inner.pypi.example is or answers with a private address, which must not be",
        ),
        (
            "GET http://both.pypi.example/",
            "both.pypi.example is or answers with a link-local address, which must not be",
        ),
        ("GET http://meta.pypi.example/", "meta.pypi.example is or answers with a metadata address, which must not be"),
    ],
)
async def test_a_refusal_is_told_to_the_client_and_to_whoever_asks(request_line: str, told: str) -> None:
    names = {
        "inner.pypi.example": ["10.0.0.1"],
        "both.pypi.example": ["93.184.215.14", "fe80::1"],
        "meta.pypi.example": ["169.254.169.254"],
    }
    async with a_door(("pypi.example", "*.pypi.example"), names, closed=True) as (door, way):
        answer = await ask(way, f"{request_line} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        lines = door.told()
    assert [line.startswith(f"network: {told}") for line in lines] == [True]
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.split(b"\r\n")[0] in (b"HTTP/1.1 403 Forbidden", b"HTTP/1.1 502 Bad Gateway")
    assert body == f"{lines[0]}\n".encode()


CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "cases/urls.jsonl").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize("case", [case for case in CASES if not case["may_connect"]], ids=lambda case: case["url"])
async def test_no_hostile_address_is_led_anywhere(case: dict[str, object]) -> None:
    url = str(case["url"]).encode("ascii", "backslashreplace")
    table = {host: lists[0] for host, lists in dict(case["dns"]).items()}  # type: ignore[call-overload]
    async with a_door("on", table, closed=True) as (_, way):
        answer = await ask(way, b"GET " + url.replace(b"https:", b"http:") + b" HTTP/1.1\r\nHost: x\r\n\r\n")
    assert not answer.startswith(b"HTTP/1.1 200")


async def test_any_public_host_is_reached_where_the_job_says_on() -> None:
    async with a_server(hello) as port, a_door("on", {"any.org": ["127.0.0.1"]}) as (door, way):
        answer = await ask(way, b"GET http://any.org:%d/ HTTP/1.1\r\nHost: any.org\r\n\r\n" % port)
        refused = await ask(way, b"CONNECT any.org:25 HTTP/1.1\r\nHost: any.org\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200 OK")
    assert refused.startswith(b"HTTP/1.1 403 ")
    assert door.told() == ("network: port 25 of any.org is only reached where [permissions] network lists it",)


async def test_a_name_is_looked_up_once_and_what_was_checked_is_connected_to() -> None:
    names = Names({"any.org": ["127.0.0.1"]})
    async with a_server(hello) as port, a_door("on", {}) as (door, way):
        door._terms = type(door._terms)("on", names, door._terms.allow)
        await ask(way, b"GET http://any.org:%d/ HTTP/1.1\r\nHost: any.org\r\n\r\n" % port)
    assert names.asked == ["any.org"]


async def test_a_host_that_does_not_answer_is_told() -> None:
    async with a_server(hello) as port:
        pass
    async with a_door((f"pypi.example:{port}",), HERE) as (door, way):
        answer = await ask(way, b"CONNECT pypi.example:%d HTTP/1.1\r\nHost: x\r\n\r\n" % port)
    assert answer.startswith(b"HTTP/1.1 502 Bad Gateway")
    assert door.told() == (f"network: pypi.example:{port} gave no connection",)


async def test_a_connection_on_which_nothing_moves_is_closed() -> None:
    async with (
        a_server(echo) as port,
        a_door((f"pypi.example:{port}",), HERE, bounds=Bounds(head_s=60.0, idle_s=0.1)) as (_, way),
    ):
        reader, writer = await asyncio.open_connection("127.0.0.1", way)
        writer.write(b"CONNECT pypi.example:%d HTTP/1.1\r\nHost: x\r\n\r\n" % port)
        await reader.readuntil(b"\r\n\r\n")
        rest = await reader.read()
        writer.close()
    assert rest == b""


async def test_who_asks_for_nothing_is_let_go() -> None:
    async with a_door("on", HERE, bounds=Bounds(head_s=0.1, idle_s=60.0)) as (door, way):
        assert await ask(way, b"") == b""
        assert await ask(way, b"GET http://pypi.example/") == b""
        assert await ask(way, b"\x16\x03\x01\x02\x00 no HTTP at all\r\n\r\n") == b""
        assert door.told() == ()


async def test_more_connections_wait_for_room() -> None:
    async with a_server(echo) as port, a_door((f"pypi.example:{port}",), HERE, bounds=Bounds(at_once=1)) as (_, way):
        reader, writer = await asyncio.open_connection("127.0.0.1", way)
        writer.write(b"CONNECT pypi.example:%d HTTP/1.1\r\nHost: x\r\n\r\n" % port)
        await reader.readuntil(b"\r\n\r\n")
        second = asyncio.create_task(ask(way, b"CONNECT pypi.example:1 HTTP/1.1\r\nHost: x\r\n\r\n"))
        writer.write(b"still served")
        assert await reader.readexactly(12) == b"still served"
        assert not second.done()
        writer.write_eof()
        await reader.read()
        assert (await second).startswith(b"HTTP/1.1 403 ")
        writer.close()


async def shut(way: int) -> bool:
    """Say whether nobody answers any more."""
    try:
        return await ask(way, b"CONNECT h.org:443 HTTP/1.1\r\nHost: x\r\n\r\n") == b""
    except OSError:
        return True


async def test_who_asks_in_vain_too_often_is_heard_no_more() -> None:
    async with a_door((), {}, bounds=Bounds(at_once=1, refusals=MAX_TOLD + 2)) as (door, way):
        for number in range(MAX_TOLD + 2):
            assert b"403" in await ask(way, b"CONNECT h%d.org:443 HTTP/1.1\r\nHost: x\r\n\r\n" % number)
        assert await shut(way)
        told = door.told()
    assert told[0] == "network: h0.org is not listed in [permissions] network"
    assert told[MAX_TOLD:] == ("network: 2 more refusals",)


async def test_a_door_that_is_closed_ends_what_goes_through_it_and_holds_nothing() -> None:
    before = opened()
    async with a_server(echo) as port:
        async with a_door((f"pypi.example:{port}",), HERE) as (door, way):
            reader, writer = await asyncio.open_connection("127.0.0.1", way)
            writer.write(b"CONNECT pypi.example:%d HTTP/1.1\r\nHost: x\r\n\r\n" % port)
            await reader.readuntil(b"\r\n\r\n")
        assert await reader.read() == b""
        writer.close()
        await door.close()
    assert opened() == before


async def test_a_door_that_nobody_came_to_is_closed_all_the_same() -> None:
    before = opened()
    door = Proxy(Names({}), (), BOUNDS).door("on")
    await door.close()
    left = Proxy(Names({}), (), BOUNDS).door("on")
    left.watch()  # whoever was to hand over is gone
    await left.close()
    assert (door.told(), left.told(), opened()) == ((), (), before)
