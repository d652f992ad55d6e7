"""MCP servers over HTTP on loopback: one by the official library, and one of ours that does what it is told."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from tests.support.ports import free_port

_OFFICIAL = """
import sys, uvicorn
from mcp.server.mcpserver import MCPServer

server = MCPServer("official")

@server.tool()
def add(a: int, b: int) -> int:
    return a + b

@server.tool()
def fail() -> str:
    raise ValueError("no such row")

app = server.streamable_http_app(stateless_http="stateless" in sys.argv, json_response="json" in sys.argv)
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="critical")
"""
Answer = Callable[[dict[str, str], Any], bytes]


@asynccontextmanager
async def official(*flags: str) -> AsyncIterator[str]:
    """Serve two tools by the official library, in a process of its own; give the address."""
    port = free_port()
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", _OFFICIAL, str(port), *flags)
    try:
        for _ in range(1_200):
            if await _listens(port):
                break
            await asyncio.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        await process.wait()


async def _listens(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    await writer.wait_closed()
    return True


@asynccontextmanager
async def ours(answer: Answer) -> AsyncIterator[str]:
    """Answer each request with whatever bytes a function makes of its headers and its message; give the address."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            writer.write(answer({**headers, "": head[0]}, json.loads(body) if body else None))
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
    finally:
        server.close()


def http(body: bytes, kind: str = "application/json", status: str = "200 OK", **headers: str) -> bytes:
    """Return an answer."""
    more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n{more}\r\n"
    )
    return head.encode() + body


def result(message: Any, found: object) -> bytes:  # noqa: ANN401  # whatever was sent
    """Return what answers a message."""
    return http(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": found}).encode())


def greeted(message: Any) -> bytes | None:  # noqa: ANN401  # whatever was sent
    """Return what greets, and tells of a tool; None for another message."""
    if message is None:
        return http(b"", status="405 Method Not Allowed")
    if "id" not in message:
        return http(b"", status="202 Accepted")
    if message["method"] == "initialize":
        about = {"name": "ours", "version": "1"}
        version = message["params"]["protocolVersion"]
        return result(message, {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about})
    if message["method"] == "tools/list":
        return result(message, {"tools": [{"name": "get", "inputSchema": {"type": "object"}}]})
    return None
