"""Speaks the protocol by the official library; this module is imported when a server is first needed, not before.

A server is greeted in the way that all of them know; one that knows only the newer way says so, and is asked that way.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.client.session import ClientRequestContext, ClientSession
from mcp.shared.message import SessionMessage
from pydantic import JsonValue, RootModel, ValidationError

from kova_auto import __version__
from kova_auto.core.errors import KovaError
from kova_auto.core.mcp.listing import beginning, seen
from kova_auto.tools.mcp.sieve import FloodError, Sieve
from kova_auto.tools.mcp.stdio import Stdio

__all__ = ["Stdio", "called", "is_closed", "is_expired", "said", "session", "sifted", "tools_of"]

_MOST_PAGES, _MOST_TOOLS = 20, 1_000
_SHOWN = 1_000
_NOTICE_BYTES, _UNREAD_BYTES = 256, 4_096
for _chatty in ("mcp", "client"):
    logging.getLogger(_chatty).setLevel(logging.CRITICAL)  # They would write down what servers say.


class _Raw(RootModel[dict[str, Any]]):
    """Hold an answer as it came: what it promises is held to account elsewhere."""


@asynccontextmanager
async def session(read: Any, write: Any, workspace: str) -> AsyncIterator[ClientSession]:  # noqa: ANN401  # its own streams
    """Give a session that has greeted the server; the block's end is its own.

    Args:
        read: What the server sends.
        write: What is sent to it.
        workspace: That the server is told of where it asks for roots; it is told nothing else, and asks nobody.

    Raises:
        MCPError: The server does not speak as it should.
        ValidationError: The same.
        RuntimeError: It speaks no version that is known.
    """

    async def roots(context: ClientRequestContext) -> types.ListRootsResult:
        del context
        root = types.Root.model_validate({"uri": Path(workspace).as_uri(), "name": "workspace"})
        return types.ListRootsResult(roots=[root])

    us = types.Implementation(name="kova-auto", version=__version__)
    async with ClientSession(read, write, list_roots_callback=roots, client_info=us) as found:
        try:
            await found.initialize()
        except MCPError as exc:
            if exc.code == types.CONNECTION_CLOSED:
                raise
            await found.discover()
        yield found


@asynccontextmanager
async def sifted(
    read: Any,  # noqa: ANN401  # as above
    write: Any,  # noqa: ANN401
    sieve: Sieve,
    gone: asyncio.Event,
) -> AsyncIterator[tuple[Any, Any]]:
    """Give streams between which and the given ones a sieve stands, as it stands in those of a process.

    Args:
        read: What the server sends.
        write: What is sent to it.
        sieve: What its messages pass.
        gone: Set when nothing more comes from it.
    """
    inward, out = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    into, outward = anyio.create_memory_object_stream[SessionMessage](0)

    async def from_server() -> None:
        async for item in read:
            if isinstance(item, Exception):
                sieve.drops(_UNREAD_BYTES)
            elif sieve.passes(_head(item), _NOTICE_BYTES):
                await inward.send(item)

    async def to_server() -> None:
        async for item in outward:
            sieve.asks(_head(item))
            await write.send(item)

    async def pump(carry: Callable[[], Awaitable[None]]) -> None:
        with suppress(FloodError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            await carry()
        gone.set()
        inward.close()

    pumps = [asyncio.create_task(pump(from_server)), asyncio.create_task(pump(to_server))]
    try:
        yield out, into
    finally:
        for task in pumps:
            task.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.gather(*pumps, return_exceptions=True)
        for stream in (inward, out, into, outward):
            stream.close()


def _head(item: SessionMessage) -> dict[str, JsonValue]:
    """Return what tells a message from others, without what it carries."""
    return item.message.model_dump(by_alias=True, exclude={"params", "result"}, exclude_unset=True)


async def tools_of(found: ClientSession) -> list[JsonValue]:
    """Return the tools of a server, page after page, as it tells of them.

    Raises:
        MCPError: It does not.
        ValidationError: What it tells is no list of tools.
    """
    tools: list[JsonValue] = []
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        try:
            page = await found.list_tools(params=types.PaginatedRequestParams(cursor=cursor))
        except MCPError as exc:
            if exc.code == types.METHOD_NOT_FOUND and not tools:
                return []  # It lends something else.
            raise
        tools += [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in page.tools]
        if not page.next_cursor or page.next_cursor == cursor or len(tools) > _MOST_TOOLS:
            break
        cursor = page.next_cursor
    return tools


async def called(found: ClientSession, tool: str, arguments: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Return a tool's answer as the server sent it.

    Raises:
        MCPError: It answers with an error of the protocol, or not at all.
        ValidationError: What it answers is none.
    """
    params = types.CallToolRequestParams(name=tool, arguments=arguments)
    answer = await found.send_request(types.CallToolRequest(params=params), _Raw)
    return answer.root


def said(exc: BaseException) -> str:
    """Return what went wrong, a clause for the model; what a server says of it is bounded."""
    match exc:
        case BaseExceptionGroup():
            return said(exc.exceptions[0])
        case MCPError():
            return f"it answered with the error {exc.code}: {beginning(seen(exc.message), _SHOWN)}"
        case ValidationError():
            first = exc.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"]))
            return f"its answer does not fit the protocol: {place}: {first['msg']}"[:_SHOWN]
        case KovaError() | RuntimeError() | OSError():
            return beginning(seen(str(exc)), _SHOWN) or type(exc).__name__
        case _:
            return type(exc).__name__


def is_expired(exc: BaseException) -> bool:
    """Say whether a server over HTTP knows the session no more: the next call begins another."""
    return isinstance(exc, MCPError) and (exc.code, exc.message) == (types.INVALID_REQUEST, "Session terminated")


def is_closed(exc: BaseException) -> bool:
    """Say whether the connection has ended."""
    return isinstance(exc, MCPError) and exc.code == types.CONNECTION_CLOSED
