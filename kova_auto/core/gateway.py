"""Say what gives a confined command its network: a door that is handed to it, and closed behind it."""

from __future__ import annotations

from typing import Protocol

from kova_auto.core.approval.network import Network


class Door(Protocol):
    """Be one command's only way out of its confinement's own, empty network."""

    @property
    def descriptor(self) -> int:
        """Return what the command is to inherit; over it, it hands back the socket on which it will be served."""

    def watch(self) -> None:
        """Serve the command as soon as it hands its socket over; call this once, after it was spawned."""

    def told(self) -> tuple[str, ...]:
        """Return what was refused, one line each."""

    async def close(self) -> None:
        """End every connection. Safe to call twice."""


class Gateway(Protocol):
    """Make doors; inside a running event loop."""

    def door(self, network: Network) -> Door:
        """Return a door that leads where a job lets its commands go; the caller closes it."""
