"""Keeps the connections of all runs: each run has its own, opened when first needed, closed when idle or settled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime

from kova_auto.core.errors import ConfigError, ToolError, ToolFailedError
from kova_auto.core.ids import RunId
from kova_auto.core.mcp.listing import Listing
from kova_auto.core.mcp.server import Server
from kova_auto.core.tool import Scene
from kova_auto.tools.mcp.cache import Cache
from kova_auto.tools.mcp.connection import Connection, Way
from kova_auto.tools.mcp.launch import Dialler, Launcher, Limits, Record
from kova_auto.tools.run_dirs import RunDirs


@dataclass(slots=True)
class _Slot:
    """Hold what there is of one server of one run."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    connection: Connection | None = None
    kept: Listing | None = None
    used: int = 0
    failure: str = ""
    failed_at: float = 0.0
    timer: asyncio.TimerHandle | None = None


class Pool:
    """Open, lend and close connections."""

    def __init__(
        self,
        launch: Launcher,
        dirs: Callable[[RunId], RunDirs],
        cache: Cache,
        dial: Dialler,
        limits: Limits | None = None,
    ) -> None:
        """Take what connections are made of.

        Args:
            launch: Says how a server is started for a run.
            dirs: Where a run keeps what it needs while it goes on.
            cache: Knows the tools that servers had.
            dial: Opens a connection over HTTP.
            limits: Bounds all of them.
        """
        self._launch, self._dirs, self._cache, self._dial = launch, dirs, cache, dial
        self._limits = limits or Limits()
        self._slots: dict[tuple[RunId, str], _Slot] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def known(self, server: Server, now: datetime) -> Listing | None:
        """Return the tools that a server had when it last told, without asking it; None where that is not known."""
        return self._cache.known(server, now, self._limits.cache_s)

    async def listing(self, server: Server, scene: Scene) -> Listing:
        """Return a server's tools: what is known of it, else what it tells itself.

        Raises:
            ToolError: It cannot be asked.
        """
        slot = self._slots.get((scene.run_id, server.address))
        is_up = slot and slot.connection and not slot.connection.is_over
        if not is_up and (known := await asyncio.to_thread(self.known, server, scene.now)):
            return known
        async with self.lent(server, scene) as connection:
            return await self.told(connection, server, scene)

    async def told(self, connection: Connection, server: Server, scene: Scene) -> Listing:
        """Return the tools that a server that is connected has now.

        Raises:
            ToolError: It does not tell.
        """
        found, slot = await connection.listing(), self._slots.get((scene.run_id, server.address))
        if slot is None or slot.kept is not found:  # A connection tells the same until its server says that it changed.
            await asyncio.to_thread(self._cache.keep, server, found, scene.now)
        if slot:
            slot.kept = found
        return found

    @asynccontextmanager
    async def lent(self, server: Server, scene: Scene) -> AsyncIterator[Connection]:
        """Lend a run's connection to a server, opened where it is not; it is not idle meanwhile.

        Raises:
            ToolError: There is none to be had.
        """
        key = (scene.run_id, server.address)
        slot = self._slots.setdefault(key, _Slot())
        if slot.timer:
            slot.timer.cancel()
        slot.used += 1
        try:
            async with slot.lock:
                connection = await self._opened(slot, server, scene)
            if self._slots.get(key) is not slot:
                await connection.close()
                message = f"the MCP server {server.address} was started for a run that has been settled, and was ended"
                raise ToolFailedError(message)
            yield connection
        finally:
            slot.used -= 1
            if not slot.used:
                loop = asyncio.get_running_loop()
                slot.timer = loop.call_later(self._limits.idle_s, self._idle, key)

    async def _opened(self, slot: _Slot, server: Server, scene: Scene) -> Connection:
        if slot.connection and not slot.connection.is_over:
            return slot.connection
        if slot.connection:
            await slot.connection.close()  # It may be about to end; what is written down of it is its own until then.
        now = asyncio.get_running_loop().time()
        if slot.failure and now - slot.failed_at < self._limits.backoff_s:
            left = self._limits.backoff_s - (now - slot.failed_at)
            message = f"{slot.failure}. It is not tried again for {left:.0f} s"
            raise ToolFailedError(message)
        try:
            connection = await self._begun(server, scene)
        except ToolError as exc:
            slot.failure, slot.failed_at = str(exc), asyncio.get_running_loop().time()
            raise
        slot.connection, slot.failure = connection, ""
        return connection

    async def _begun(self, server: Server, scene: Scene) -> Connection:
        try:
            launch = await asyncio.to_thread(self._launch, server, scene)
        except ConfigError as exc:
            message = f"the MCP server {server.address} cannot be started: {exc}"
            raise ToolFailedError(message) from exc
        record = Record.of(self._dirs(scene.run_id), server)
        connection = Connection(server, Way(launch, scene.workspace, record, self._limits, self._dial))
        await connection.open()
        return connection

    def _idle(self, key: tuple[RunId, str]) -> None:
        slot = self._slots.get(key)
        if slot and not slot.used and slot.connection:
            task = asyncio.get_running_loop().create_task(slot.connection.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def settle(self, scene: Scene) -> None:
        """End the servers of a run. Safe to call twice."""
        await self._end([key for key in self._slots if key[0] == scene.run_id])

    async def close(self) -> None:
        """End all servers, for this process is about to end itself."""
        await self._end(list(self._slots))
        await asyncio.gather(*self._closing)

    async def _end(self, keys: list[tuple[RunId, str]]) -> None:
        slots = [self._slots.pop(key) for key in keys]
        for slot in slots:
            if slot.timer:
                slot.timer.cancel()
        await asyncio.gather(*(slot.connection.close() for slot in slots if slot.connection))
