"""A door as a confined command has one, but opened right here; names that are looked up in a table."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from ipaddress import ip_network
from pathlib import Path

from kova_auto.core.approval.network import Network
from kova_auto.net.proxy import Bounds, Proxy, ProxyDoor
from kova_auto.net.resolver import NameNotFoundError
from tests.support.ports import free_port

LOOPBACK = (ip_network("127.0.0.0/8"),)
BOUNDS = Bounds(head_s=60.0, idle_s=60.0)
HANDOVER = Path(__file__).parents[2] / "kova_auto/tools/sandbox/handover.py"

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Names:
    """Answer from a table; what is not in it has no address."""

    table: Mapping[str, Sequence[str]]
    asked: list[str] = field(default_factory=list)

    async def resolve(self, host: str) -> Sequence[str]:
        self.asked.append(host)
        if host not in self.table:
            message = f"the name {host} gave no address"
            raise NameNotFoundError(message)
        return self.table[host]


@asynccontextmanager
async def a_door(
    network: Network, names: Mapping[str, Sequence[str]], *, bounds: Bounds = BOUNDS, closed: bool = False
) -> AsyncIterator[tuple[ProxyDoor, int]]:
    """Yield a door and the port that it serves; `closed` to all networks but public ones."""
    door = Proxy(Names(names), () if closed else LOOPBACK, bounds).door(network)
    port = free_port()
    argv = [sys.executable, "-I", "-S", str(HANDOVER), str(door.descriptor), str(port), "--", "/bin/true"]
    try:
        await asyncio.to_thread(subprocess.run, argv, pass_fds=(door.descriptor,), check=True)
        door.watch()
        yield door, port
    finally:
        await door.close()


@asynccontextmanager
async def a_server(serve: Serve) -> AsyncIterator[int]:
    """Yield the port of a server on loopback; what it serves is closed with it."""
    tasks: set[asyncio.Task[None]] = set()

    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError):
                await serve(reader, writer)
        finally:
            writer.close()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.create_task(served(reader, writer)))

    async with await asyncio.start_server(connected, "127.0.0.1", 0) as server:
        yield int(server.sockets[0].getsockname()[1])
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def ask(port: int, request: bytes) -> bytes:
    """Send a request and return all that comes back."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(request)
        return await reader.read()
    finally:
        writer.close()


def opened() -> int:
    return len(list(Path("/dev/fd").iterdir()))
