"""MCP servers over HTTP: reached where they may be, given their headers, and bounded in what they send."""

from __future__ import annotations

import gzip
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from kova_auto.app.mcp import dialled
from kova_auto.core.errors import ToolFailedError, ToolTimeoutError
from kova_auto.core.ids import RunId
from kova_auto.core.mcp.server import Layer, Server
from kova_auto.tools.mcp.connection import Connection, Way
from kova_auto.tools.mcp.launch import Address, Limits, Record
from kova_auto.tools.run_dirs import RunDirs
from tests.net.mcp_servers import greeted, http, official, ours, result

Message = Any  # whatever was sent
NONE: Mapping[str, str] = {}


@asynccontextmanager
async def connected(
    path: Path, url: str, *, headers: Mapping[str, str] = NONE, allow_private: bool = True, most: int = 1 << 20
) -> AsyncIterator[Connection]:
    server = Server(name="web", layer=Layer.USER, url=url, allow_private=allow_private, timeout_s=60.0)
    address = Address(url, headers, allow_private=allow_private, max_body_bytes=most)
    record = Record.of(RunDirs(path, RunId("nightly")), server)
    connection = Connection(server, Way(address, str(path), record, Limits(), dialled))
    try:
        await connection.open()
        yield connection
    finally:
        await connection.close()


# Each starts a process that imports the library, which takes a second or two.
@pytest.mark.parametrize("flags", [(), ("stateless", "json")])
async def test_a_server_by_the_official_library_is_called(tmp_path: Path, flags: tuple[str, ...]) -> None:
    async with official(*flags) as url, connected(tmp_path, url) as connection:
        assert [tool.name for tool in (await connection.listing()).tools] == ["add", "fail"]
        found = await connection.call("add", {"a": 2, "b": 3}, 60)
        failed = await connection.call("fail", {}, 60)
    assert found["structuredContent"] == {"result": 5}
    assert failed["isError"] is True


async def test_headers_are_sent_with_every_request(tmp_path: Path) -> None:
    seen: list[str] = []

    def answer(headers: dict[str, str], message: Message) -> bytes:
        seen.append(headers.get("authorization", ""))
        return greeted(message) or result(message, {"content": []})

    async with ours(answer) as url, connected(tmp_path, url, headers={"Authorization": "Bearer x"}) as connection:
        await connection.call("get", {}, 60)
    assert len(seen) >= 4
    assert set(seen) == {"Bearer x"}


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1/mcp", "https://127.0.0.1:1/mcp", "https://10.0.0.1/mcp", "https://169.254.169.254/mcp"]
)
async def test_a_private_address_is_not_reached_unless_the_user_says_so(tmp_path: Path, url: str) -> None:
    with pytest.raises(ToolFailedError):
        async with connected(tmp_path, url, allow_private=False):
            pass


async def test_what_gives_away_a_machines_identity_is_never_reached(tmp_path: Path) -> None:
    with pytest.raises(ToolFailedError, match="metadata"):
        async with connected(tmp_path, "http://169.254.169.254/mcp"):
            pass


async def test_nobody_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ToolFailedError, match="could not be started: it cannot be reached"):
        async with connected(tmp_path, "http://127.0.0.1:1025/mcp"):
            pass


async def test_a_redirect_to_another_place_is_not_followed(tmp_path: Path) -> None:
    seen: list[str] = []

    def elsewhere(headers: dict[str, str], _: Message) -> bytes:
        seen.append(headers.get("authorization", ""))
        return http(b"", status="404 Not Found")

    async with ours(elsewhere) as other:

        def moved(_: dict[str, str], __: Message) -> bytes:
            return http(b"", status="307 Temporary Redirect", Location=other)

        async with ours(moved) as url:
            with pytest.raises(ToolFailedError, match="not followed"):
                async with connected(tmp_path, url, headers={"Authorization": "Bearer x"}):
                    pass
    assert seen == []


LARGE = {"content": [{"type": "text", "text": "x" * 2_000_000}]}


def packed(message: Message) -> bytes:
    body = gzip.compress(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": LARGE}).encode())
    return http(body, Content_Encoding="gzip")


def streamed(message: Message) -> bytes:
    data = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": LARGE})
    return http(f"data: {data}\n\n".encode(), "text/event-stream")


Make = Callable[[Any], bytes]
ODD: dict[str, tuple[Make, str]] = {
    "too large": (lambda message: result(message, LARGE), "its answer is larger than is read"),
    "a bomb": (packed, "its answer is compressed, which nobody asked for"),
    "too large a stream": (streamed, "larger than is read|cannot be reached|without a response"),
    "no JSON": (lambda _: http(b"<html>"), "Failed to parse JSON"),
    "another type": (lambda _: http(b"hi", "text/html"), "Unexpected content type: text/html"),
    "an error": (lambda _: http(b"boom", status="500 Internal Server Error"), "Server returned an error response"),
    "nothing": (lambda _: http(b"", status="202 Accepted"), "202 Accepted"),
    "cut off": (
        lambda _: b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{",
        "it cannot be reached, or not any more",
    ),
    "no HTTP": (lambda _: b"SSH-2.0\r\n", "it cannot be reached, or not any more"),
}


@pytest.mark.parametrize("odd", ODD)
async def test_an_answer_that_is_none_is_an_error(tmp_path: Path, odd: str) -> None:
    make, said = ODD[odd]

    def answer(_: dict[str, str], message: Message) -> bytes:
        return greeted(message) or make(message)

    async with ours(answer) as url:
        with pytest.raises(ToolFailedError, match=said):
            async with connected(tmp_path, url) as connection:
                await connection.call("get", {}, 60)


async def test_a_flood_over_http_ends_the_connection_and_the_next_call_another(tmp_path: Path) -> None:
    notice = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": ""}})

    def answer(_: dict[str, str], message: Message) -> bytes:
        return greeted(message) or http(f"data: {notice}\n\n".encode() * 30_000, "text/event-stream")

    async with ours(answer) as url, connected(tmp_path, url, most=16 << 20) as connection:
        with pytest.raises(ToolFailedError, match="it sends more than anybody asked for"):
            await connection.call("get", {}, 60)
        assert connection.is_over


async def test_a_session_that_the_server_knows_no_more_is_ended(tmp_path: Path) -> None:
    def answer(_: dict[str, str], message: Message) -> bytes:
        found = greeted(message) or http(b"", status="404 Not Found")
        return found.replace(b"Connection: close", b"Mcp-Session-Id: s1\r\nConnection: close")

    async with ours(answer) as url, connected(tmp_path, url) as connection:
        with pytest.raises(ToolFailedError, match="Session terminated"):
            await connection.call("get", {}, 60)
        assert connection.is_over


async def test_a_server_that_never_answers_ends_in_time(tmp_path: Path) -> None:
    def answer(_: dict[str, str], message: Message) -> bytes:
        return greeted(message) or b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: wait\n\n"

    async with ours(answer) as url:
        with pytest.raises((ToolFailedError, ToolTimeoutError)):
            async with connected(tmp_path, url) as connection:
                await connection.call("get", {}, 0.5)
