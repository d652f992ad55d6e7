"""Holds one connection to a server: opened within its time, closed whatever happens, its calls bounded.

The library's own tasks live in one task of ours, which alone enters and leaves them. Whatever goes wrong in there ends
that task and nothing else; whoever waits is told why.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Final, TypeVar

from pydantic import JsonValue

from kova_auto.core.errors import ToolFailedError, ToolTimeoutError
from kova_auto.core.mcp.listing import Listing, listed
from kova_auto.core.mcp.server import Server
from kova_auto.tools.mcp.launch import Address, Dialler, Launch, Limits, Record
from kova_auto.tools.mcp.sieve import Sieve

T = TypeVar("T")
EXTRA: Final = "MCP servers need the extra kova-auto[mcp]: pip install 'kova-auto[mcp]'"
_OVERHEAD = 1 << 20
_LAST_WORDS_S = 1.0
_CLOSING_S = 15.0
"""More than ending a process takes, and taking leave of a server over HTTP."""


def is_there() -> bool:
    """Say whether the extra is installed."""
    return find_spec("mcp") is not None


@dataclass(frozen=True, slots=True)
class Way:
    """Say how a server is reached, and what bounds that.

    Attributes:
        workspace: That it is told of where it asks for roots.
        record: Where its process is written down.
        dial: Opens a connection over HTTP.
    """

    launch: Launch
    workspace: str
    record: Record
    limits: Limits
    dial: Dialler


class Connection:
    """Hold a connection; `open` it before anything else, and `close` it."""

    def __init__(self, server: Server, way: Way) -> None:
        """Take what is to be connected to; nothing happens yet."""
        self.server = server
        self._way = way
        self._sieve = Sieve()
        self._ready, self._stop, self._gone = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._session: Any = None
        self._stdio: Any = None
        self._wire: Any = None
        self._listing = Listing()

    @property
    def is_over(self) -> bool:
        """Say whether it has ended, by itself or by us."""
        return self._task is None or self._task.done() or self._stop.is_set()

    async def open(self) -> None:
        """Start the server or reach it, greet it, and learn its tools.

        Raises:
            ToolFailedError: It cannot be started, or does not answer as it should.
            ToolTimeoutError: It takes too long; nothing of it is left.
        """
        if not is_there():
            raise ToolFailedError(EXTRA)
        self._wire = await asyncio.to_thread(importlib.import_module, "kova_auto.tools.mcp.wire")
        self._task = asyncio.create_task(self._live())
        ready = asyncio.create_task(self._ready.wait())
        try:
            await asyncio.wait({self._task, ready}, timeout=self.server.timeout_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ready.cancel()
            if not self._ready.is_set():
                await self.close()
        if not self._ready.is_set():
            raise await self._unopened()

    async def listing(self) -> Listing:
        """Return its tools; asked for anew where it has said that they have changed.

        Raises:
            ToolFailedError: It does not tell.
            ToolTimeoutError: The same.
        """
        if self._sieve.stale:
            self._sieve.stale = False
            found = await self._bounded(self._wire.tools_of(self._session), self.server.timeout_s, "tell of its tools")
            self._listing = listed(found, self.server.max_tools, self.server.offers)
        return self._listing

    async def call(self, tool: str, arguments: dict[str, JsonValue], seconds: float) -> dict[str, JsonValue]:
        """Return a tool's answer, as the server sent it.

        Raises:
            ToolFailedError: There is none; the message says why.
            ToolTimeoutError: It takes too long; the server is ended with all it started.
        """
        return await self._bounded(self._wire.called(self._session, tool, arguments), seconds, f"answer to {tool}")

    async def close(self) -> None:
        """End it, and the server where that is on this machine. Calling twice is safe."""
        self._stop.set()
        if (task := self._task) is None:
            return
        if not self._ready.is_set():
            task.cancel()  # It may be waiting for a greeting that never comes.
        if not (await asyncio.wait({task}, timeout=_CLOSING_S))[0]:
            task.cancel()
            await asyncio.wait({task}, timeout=_CLOSING_S)
        if task.done() and not task.cancelled():
            task.exception()  # Seen, so that nobody else reports it.

    async def _live(self) -> None:
        async with self._streams() as (read, write), self._wire.session(read, write, self._way.workspace) as session:
            self._session = session
            self._listing = listed(await self._wire.tools_of(session), self.server.max_tools, self.server.offers)
            self._ready.set()
            await self._until_over()

    @asynccontextmanager
    async def _streams(self) -> AsyncIterator[tuple[Any, Any]]:
        launch = self._way.launch
        if isinstance(launch, Address):
            async with (
                self._way.dial(launch) as streams,
                self._wire.sifted(*streams, self._sieve, self._gone) as sifted,
            ):
                yield sifted
            return
        most = 2 * self.server.max_result_bytes + _OVERHEAD  # JSON writes a character as several.
        self._stdio = self._wire.Stdio(
            launch, self._way.record, self._sieve, max_line=most, grace_s=self._way.limits.grace_s
        )
        async with self._stdio.running() as streams:
            yield streams

    async def _until_over(self) -> None:
        gone = self._stdio.over() if self._stdio else self._gone.wait()
        waits = [asyncio.create_task(self._stop.wait()), asyncio.create_task(gone)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    async def _bounded(self, asked: Awaitable[T], seconds: float, what: str) -> T:
        """Return what the server answers, however it fails to."""
        asking, live = asyncio.ensure_future(asked), self._task
        try:
            if live:
                await asyncio.wait({asking, live}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            asking.cancel()
        if asking.done() and not asking.cancelled():
            if failure := asking.exception():
                raise ToolFailedError(self._named(await self._why(failure)))
            return asking.result()
        if self.is_over:
            await asyncio.wait({asking}, timeout=_LAST_WORDS_S)
            raise ToolFailedError(self._named(await self._epitaph()))
        await self.close()
        await asyncio.wait({asking}, timeout=_LAST_WORDS_S)
        message = self._named(f"it did not {what} within {seconds:g} s, and was ended{self._remarks()}")
        raise ToolTimeoutError(message)

    async def _unopened(self) -> ToolFailedError | ToolTimeoutError:
        """Return why there is no connection, once it is closed."""
        task = self._task
        if self._stdio and self._stdio.ended_itself:
            return ToolFailedError(self._named(f"it could not be started: {self._stdio.epitaph()}"))
        if task and not task.cancelled() and (failure := task.exception()):
            return ToolFailedError(self._named(f"it could not be started: {self._wire.said(failure)}"))
        message = self._named(f"it did not greet us and tell of its tools within {self.server.timeout_s:g} s")
        return ToolTimeoutError(f"{message}{self._remarks()}")

    async def _why(self, failure: BaseException) -> str:
        if self._wire.is_expired(failure):
            await self.close()
        if not self._wire.is_closed(failure):
            return str(self._wire.said(failure))
        said = await self._epitaph()
        return said if self.is_over else str(self._wire.said(failure))  # One answer broke off, nothing else.

    async def _epitaph(self) -> str:
        """Return how a connection ended that we did not end."""
        if self._task:  # Its last words may be on their way.
            await asyncio.wait({self._task}, timeout=_LAST_WORDS_S)
        if self._stdio:
            return f"no answer: {self._stdio.epitaph()}"
        has_failed = self._task and self._task.done() and not self._task.cancelled()
        failure = self._task.exception() if self._task and has_failed else None
        said = self._wire.said(failure) if failure else "the connection has ended"
        return f"no answer: {self._sieve.fault or said}"

    def _remarks(self) -> str:
        return str(self._stdio.remarks()) if self._stdio else ""

    def _named(self, said: str) -> str:
        return f"the MCP server {self.server.address}: {said}"
