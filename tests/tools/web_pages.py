"""A web server on loopback that says what it is told to, and the tool that asks it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from ipaddress import ip_network
from pathlib import Path

from kova_auto.core.net.url import Egress
from kova_auto.core.tool import ToolOutput
from kova_auto.net.exchange import GuardedExchange
from kova_auto.tools.tool import Tool
from kova_auto.tools.web_fetch import WebFetchTool
from tests.tools.tool_scenes import a_scene, play

LOOPBACK = Egress(allow_http=True, allow_cidrs=(ip_network("127.0.0.0/8"),))
Pages = Mapping[str, bytes]


@dataclass
class Site:
    """Hold where a server listens, and what it was asked: the head of each request."""

    port: int
    asked: list[str] = field(default_factory=list)

    def url(self, path: str = "/", host: str = "site.example") -> str:
        return f"http://{host}:{self.port}{path}"


def says(body: bytes | str, *headers: str, status: str = "200 OK", length: int | None = None) -> bytes:
    """Return a whole answer; `length` may promise more than there is."""
    content = body.encode() if isinstance(body, str) else body
    promised = len(content) if length is None else length
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {promised}", "Connection: close", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + content


def html(body: str, *headers: str, status: str = "200 OK") -> bytes:
    return says(body, "Content-Type: text/html; charset=utf-8", *headers, status=status)


def moved(location: str, status: str = "302 Found") -> bytes:
    return says("", f"Location: {location}", status=status)


@asynccontextmanager
async def a_site(pages: Pages | bytes, *, crowd: int = 1) -> AsyncIterator[Site]:
    """Serve pages by path, or the same answer to everything; nobody is answered before so many have asked."""
    crowded = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            site.asked.append(head)
            if len(site.asked) >= crowd:
                crowded.set()
            await crowded.wait()
            path = head.split(" ")[1].partition("?")[0]
            writer.write(pages if isinstance(pages, bytes) else pages[path])
            await writer.drain()
        except ConnectionError:
            return  # the tool had enough
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    site = Site(server.sockets[0].getsockname()[1])
    async with server:
        yield site


@dataclass(frozen=True)
class Local:
    """Resolve every name to loopback."""

    async def resolve(self, _host: str) -> Sequence[str]:
        return ["127.0.0.1"]


@cache
def an_exchange() -> GuardedExchange:
    return GuardedExchange(Local())


def a_fetcher(egress: Egress = LOOPBACK) -> Tool:
    return WebFetchTool(an_exchange(), egress)


async def fetch(url: str, tool: Tool | None = None) -> ToolOutput:
    return (await play(tool or a_fetcher(), a_scene(Path("/w")), url=url)).output
