"""Serve confined commands as their HTTP proxy: the one way out of a network of their own that has nothing in it.

A command's listening socket was made inside its confinement, by our launcher, and handed to us before the command
began. So nothing of this machine's network is shared, no port of ours is open to anybody else, and no file of a socket
lies where the command could exchange it.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from kova_auto.core.approval.network import Network
from kova_auto.core.net.address import Network as Cidr
from kova_auto.net.forward import Forward, Terms
from kova_auto.net.resolver import Resolver, SystemResolver

MAX_TOLD = 10
"""So many different lines are told of one command; the rest are counted."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bound what one command may keep us busy with.

    Attributes:
        at_once: Connections at a time; more wait in the socket's queue.
        refusals: After so many, the door stays shut: nobody asks in vain so often by mistake.
        head_s: For a request's head to come.
        idle_s: Without a byte in either direction.
    """

    at_once: int = 64
    refusals: int = 1000
    head_s: float = 20.0
    idle_s: float = 120.0


_BOUNDS = Bounds()


class Proxy:
    """Make the doors of all commands; one per service."""

    def __init__(self, resolver: Resolver | None = None, allow: Sequence[Cidr] = (), bounds: Bounds = _BOUNDS) -> None:
        """Take what they share.

        Args:
            resolver: Asked once for each connection; default: the system's.
            allow: Networks that are no public ones and may be reached all the same: none in a service.
            bounds: Of each door.
        """
        self._resolver, self._allow, self._bounds = resolver, allow, bounds

    def door(self, network: Network) -> ProxyDoor:
        """See `Gateway`."""
        if self._resolver is None:
            self._resolver = SystemResolver()
        return ProxyDoor(Terms(network, self._resolver, tuple(self._allow)), self._bounds)


class ProxyDoor:
    """Wait for one command's socket, and serve what connects to it. Close it when the command is over."""

    def __init__(self, terms: Terms, bounds: Bounds) -> None:
        """Make the pair of sockets over which the other one comes."""
        self._terms, self._bounds = terms, bounds
        self._ours, self._theirs = socket.socketpair()
        self._ours.settimeout(0)
        self._task: asyncio.Task[None] | None = None
        self._clients: set[asyncio.Task[None]] = set()
        self._told: dict[str, None] = {}
        self._refusals = 0

    @property
    def descriptor(self) -> int:
        """See `Door`."""
        return self._theirs.fileno()

    def watch(self) -> None:
        """See `Door`."""
        self._theirs.close()
        self._task = asyncio.create_task(self._serve())

    def told(self) -> tuple[str, ...]:
        """See `Door`."""
        lines = tuple(self._told)
        more = (f"network: {len(lines) - MAX_TOLD} more refusals",) if len(lines) > MAX_TOLD else ()
        return (*lines[:MAX_TOLD], *more)

    async def close(self) -> None:
        """See `Door`."""
        tasks = [*self._clients, *([self._task] if self._task else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # what was aborted is closed in the loop's next round
        self._ours.close()
        self._theirs.close()

    async def _serve(self) -> None:
        """Accept until the door is closed, or was asked in vain too often."""
        with suppress(OSError), await self._handed_over() as listener:
            loop, room = asyncio.get_running_loop(), asyncio.Semaphore(self._bounds.at_once)
            while self._refusals < self._bounds.refusals:
                await room.acquire()
                client, _ = await loop.sock_accept(listener)
                task = asyncio.create_task(self._client(client))
                self._clients.add(task)
                task.add_done_callback(self._clients.discard)
                task.add_done_callback(partial(_let_go, client, room))

    async def _handed_over(self) -> socket.socket:
        """Return the listening socket that the launcher sends.

        Raises:
            OSError: It sent none: the command was never begun.
        """
        loop, there = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(self._ours, there.set)
        try:
            await there.wait()
        finally:
            loop.remove_reader(self._ours)
        with self._ours:
            _, found, _, _ = socket.recv_fds(self._ours, 1, 1, socket.MSG_CMSG_CLOEXEC)
        if not found:
            raise OSError(errno.ENOTCONN, os.strerror(errno.ENOTCONN))
        listener = socket.socket(fileno=found[0])
        listener.settimeout(0)
        return listener

    async def _client(self, client: socket.socket) -> None:
        if self._refusals >= self._bounds.refusals:
            return
        reader, writer = await asyncio.open_connection(sock=client)
        forward = Forward(reader, writer, self._terms, head_s=self._bounds.head_s, idle_s=self._bounds.idle_s)
        if refused := await forward.run():
            self._refusals += 1
            if len(self._told) < self._bounds.refusals:
                self._told.setdefault(f"network: {refused}")


def _let_go(client: socket.socket, room: asyncio.Semaphore, _: asyncio.Task[None]) -> None:
    client.close()  # a task that was cancelled before its first step has not
    room.release()
