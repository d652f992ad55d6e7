"""MCP servers over HTTP that refuse, break off, trickle, send elsewhere, or never let go: each ends, and in time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from kova_auto.core.errors import ToolFailedError, ToolTimeoutError
from tests.net.mcp_servers import greeted, http, ours, result
from tests.net.test_mcp_over_http import Message, connected

EVENTS = "text/event-stream"


def message_of(key: object, text: str) -> str:
    found = {"content": [{"type": "text", "text": text}]}
    return json.dumps({"jsonrpc": "2.0", "id": key, "result": found})


async def test_a_server_that_wants_to_know_who_asks_says_so_and_nobody_is_asked(tmp_path: Path) -> None:
    paths: list[str] = []

    def answer(headers: dict[str, str], _: Message) -> bytes:
        paths.append(headers[""])
        challenge = 'Bearer resource_metadata="http://127.0.0.1:9/.well-known/oauth-protected-resource"'
        return http(b"", status="401 Unauthorized", WWW_Authenticate=challenge)

    async with ours(answer) as url:
        with pytest.raises(ToolFailedError, match="401 Unauthorized: it wants to know who asks"):
            async with connected(tmp_path, url, headers={"Authorization": "Bearer stale"}):
                pass
    assert {path.split()[1] for path in paths} == {"/mcp"}


@pytest.mark.parametrize(
    "status", ["404 Not Found", "405 Method Not Allowed", "429 Too Many Requests", "503 Service Unavailable", "599"]
)
async def test_an_answer_of_something_else_that_listens_there_is_told_by_its_status(
    tmp_path: Path, status: str
) -> None:
    def answer(_: dict[str, str], __: Message) -> bytes:
        return http(b"<html>hunter2</html>", "text/html", status=status)

    async with ours(answer) as url:
        with pytest.raises(ToolFailedError, match=f"it could not be started: it answered {status}"):
            async with connected(tmp_path, url):
                pass


@pytest.mark.parametrize("status", ["401 Unauthorized", "403 Forbidden"])
async def test_a_call_that_is_forbidden_says_so(tmp_path: Path, status: str) -> None:
    def answer(_: dict[str, str], message: Message) -> bytes:
        return greeted(message) or http(b"", status=status)

    async with ours(answer) as url, connected(tmp_path, url) as connection:
        with pytest.raises(ToolFailedError, match=status):
            await connection.call("get", {}, 60)


@pytest.mark.parametrize(
    "status", ["301 Moved Permanently", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"]
)
async def test_a_call_that_is_sent_elsewhere_goes_nowhere(tmp_path: Path, status: str) -> None:
    seen: list[dict[str, str]] = []

    def elsewhere(headers: dict[str, str], message: Message) -> bytes:
        seen.append(headers)
        return greeted(message) or http(b"")

    async with ours(elsewhere) as other:

        def answer(_: dict[str, str], message: Message) -> bytes:
            return greeted(message) or http(b"", status=status, Location=other)

        async with ours(answer) as url, connected(tmp_path, url, headers={"Authorization": "Bearer x"}) as connection:
            with pytest.raises(ToolFailedError, match="not followed"):
                await connection.call("get", {}, 60)
    assert seen == []


async def test_an_answer_that_breaks_off_is_taken_up_where_it_broke_off(tmp_path: Path) -> None:
    asked: list[object] = []

    def answer(headers: dict[str, str], message: Message) -> bytes:
        if message is None:
            if headers.get("last-event-id") != "e1":
                return http(b"", status="405 Method Not Allowed")
            return http(f"id: e2\ndata: {message_of(asked[-1], 'resumed')}\n\n".encode(), EVENTS)
        if greeting := greeted(message):
            return greeting
        asked.append(message["id"])
        return http(b"id: e1\nretry: 10\ndata: \n\n", EVENTS)

    async with ours(answer) as url, connected(tmp_path, url) as connection:
        found = await connection.call("get", {}, 20)
    assert found["content"] == [{"type": "text", "text": "resumed"}]
    assert len(asked) == 1


async def test_an_answer_that_breaks_off_again_and_again_ends(tmp_path: Path) -> None:
    gets: list[str] = []

    def answer(headers: dict[str, str], message: Message) -> bytes:
        if message is None:
            gets.append(headers.get("last-event-id", ""))
            return http(f"id: e{len(gets)}\nretry: 10\ndata: \n\n".encode(), EVENTS)
        return greeted(message) or http(b"id: e0\nretry: 10\ndata: \n\n", EVENTS)

    async with ours(answer) as url, connected(tmp_path, url) as connection:
        with pytest.raises((ToolFailedError, ToolTimeoutError)):
            await connection.call("get", {}, 2.0)
    assert len(gets) < 500


async def test_an_answer_whose_server_wants_to_be_asked_again_in_a_year_ends_in_time(tmp_path: Path) -> None:
    def answer(_: dict[str, str], message: Message) -> bytes:
        return greeted(message) or http(b"id: e0\nretry: 31536000000\ndata: \n\n", EVENTS)

    async with ours(answer) as url, connected(tmp_path, url) as connection:
        with pytest.raises(ToolTimeoutError, match="within 1 s"):
            await connection.call("get", {}, 1.0)


async def test_an_answer_that_trickles_ends_in_time(tmp_path: Path) -> None:
    def answer(_: dict[str, str], message: Message) -> bytes:
        return greeted(message) or b""

    async with trickling(answer) as url, connected(tmp_path, url) as connection:
        with pytest.raises(ToolTimeoutError, match="within 1 s"):
            await connection.call("get", {}, 1.0)


@pytest.mark.parametrize("hanging", ["DELETE", "GET"])
async def test_a_server_that_never_lets_go_is_left(tmp_path: Path, hanging: str) -> None:
    def answer(headers: dict[str, str], message: Message) -> bytes:
        if headers[""].startswith(hanging):
            return b""
        found = greeted(message) or result(message, {"content": []})
        return found.replace(b"Connection: close", b"Mcp-Session-Id: s1\r\nConnection: close")

    async with trickling(answer) as url, asyncio.timeout(90), connected(tmp_path, url) as connection:
        await connection.call("get", {}, 60)


@pytest.mark.parametrize("name", ["bad\r\nX-Other: 1", "x" * 100_000, "\u202e"])
async def test_a_session_of_an_odd_name_does_no_harm(tmp_path: Path, name: str) -> None:
    seen: list[dict[str, str]] = []

    def answer(headers: dict[str, str], message: Message) -> bytes:
        seen.append(headers)
        found = greeted(message) or result(message, {"content": []})
        return found.replace(b"Connection: close", f"Mcp-Session-Id: {name}\r\nConnection: close".encode())

    async with ours(answer) as url:
        try:
            async with connected(tmp_path, url) as connection:
                await connection.call("get", {}, 60)
        except (ToolFailedError, ToolTimeoutError):
            pass
    assert not any("x-other" in headers for headers in seen)


@asynccontextmanager
async def trickling(answer: Callable[[dict[str, str], Any], bytes]) -> AsyncIterator[str]:
    """Answer as `ours` does; where there is no answer, send the beginning of one and then a comment for ever."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            if found := answer({**headers, "": head[0]}, json.loads(body) if body else None):
                writer.write(found)
                await writer.drain()
                return
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
            while True:
                writer.write(b": wait\n\n")
                await writer.drain()
                await asyncio.sleep(0.05)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
    finally:
        server.close()
