"""Reach the service of these settings: the live one over its socket, or become it for a moment."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

from kova_auto.app.control import Control
from kova_auto.app.house import House, build
from kova_auto.app.remote import RemoteControl
from kova_auto.app.socket import listening, socket_path
from kova_auto.core.errors import DatabaseInUseError
from kova_auto.settings.model import Settings
from kova_auto.store.owner import OwnedBy, Owner, acquire_owner


@dataclass(frozen=True, slots=True)
class Connection:
    """Hold what a command may ask, and the house itself where the command has become the owner."""

    control: Control
    house: House | None


@contextlib.asynccontextmanager
async def connected(settings: Settings, environ: Mapping[str, str], *, kind: str) -> AsyncIterator[Connection]:
    """Give a connection for as long as the block lasts.

    Where nobody owns the database, this process does, and others may ask it meanwhile. PostgreSQL has no owner.

    Args:
        settings: Of the service.
        environ: Of this process.
        kind: What this process is, in one word for messages.

    Raises:
        KovaError: The service does not answer, or the database cannot be used.
    """
    owner = _owner(settings, kind)
    if isinstance(owner, OwnedBy):
        remote = await RemoteControl.connect(socket_path(settings.data_dir))
        try:
            yield Connection(remote, None)
        finally:
            await remote.close()
        return
    async with contextlib.AsyncExitStack() as stack:
        if owner:
            stack.enter_context(owner)
        house = await build(settings, environ)
        stack.push_async_callback(house.close)
        if owner:
            await stack.enter_async_context(listening(house.control, socket_path(settings.data_dir)))
        yield Connection(house.control, house)


@contextlib.asynccontextmanager
async def owning(settings: Settings, environ: Mapping[str, str], *, kind: str) -> AsyncIterator[House]:
    """Give the house of a process that must own the database.

    Raises:
        DatabaseInUseError: Another process owns it.
        KovaError: The database cannot be used.
    """
    async with connected(settings, environ, kind=kind) as connection:
        if connection.house is None:
            status = await connection.control.status()
            msg = f"process {status.pid} owns the database in {settings.data_dir}; stop it first"
            raise DatabaseInUseError(msg)
        yield connection.house


def _owner(settings: Settings, kind: str) -> Owner | OwnedBy | None:
    return acquire_owner(settings.data_dir, kind=kind) if settings.database == "sqlite" else None
