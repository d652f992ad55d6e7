"""Reach the service of these settings: the live one over its socket, or become it for a moment."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kova_auto.app.control import Answers, Control
from kova_auto.app.remote import RemoteControl
from kova_auto.app.socket import listening, socket_path
from kova_auto.core.errors import DatabaseInUseError, JournalBusyError
from kova_auto.settings.model import Settings
from kova_auto.store.owner import OwnedBy, Owner, acquire_owner

if TYPE_CHECKING:
    from kova_auto.app.house import House

LOG = logging.getLogger(__name__)
SERVICE = "serve"
PATIENCE_S = 15.0
AGAIN_S = 0.1


@dataclass(frozen=True, slots=True)
class Connection:
    """Hold what a command may ask, and the house itself where the command has become the owner."""

    control: Control
    house: House | None


@contextlib.asynccontextmanager
async def connected(
    settings: Settings, environ: Mapping[str, str], *, kind: str, drives: bool = False
) -> AsyncIterator[Connection]:
    """Give a connection for as long as the block lasts.

    Where nobody owns the database, this process does, and others may ask it meanwhile. PostgreSQL has no owner.

    Args:
        settings: Of the service.
        environ: Of this process.
        kind: What this process is, in one word for messages.
        drives: A run is to be driven: by a service, or else by this process, once no other command has the database.

    Raises:
        KovaError: The service does not answer, or the database cannot be used.
    """
    async with contextlib.AsyncExitStack() as stack:
        reached = await _reach(settings, kind, stack, drives=drives)
        if isinstance(reached, RemoteControl):
            yield Connection(reached, None)
            return
        from kova_auto.app.house import build

        house = await build(settings, environ)
        stack.push_async_callback(house.close)
        if reached:
            await stack.enter_async_context(listening(house.control, socket_path(settings.data_dir)))
        yield Connection(house.control, house)


@contextlib.asynccontextmanager
async def reading(settings: Settings, environ: Mapping[str, str], *, kind: str) -> AsyncIterator[Answers]:
    """Give what answers questions about what is there: the service, or the database alone where there is none.

    Raises:
        KovaError: The service does not answer, or the database cannot be used.
    """
    async with contextlib.AsyncExitStack() as stack:
        reached = await _reach(settings, kind, stack)
        if isinstance(reached, RemoteControl):
            yield reached
            return
        from kova_auto.app.archive import open_archive

        archive = await open_archive(settings, environ)
        stack.push_async_callback(archive.close)
        yield archive.answers


@contextlib.asynccontextmanager
async def owning(settings: Settings, environ: Mapping[str, str]) -> AsyncIterator[House]:
    """Give the house of a service; waits where a command has the database for its moment.

    Raises:
        DatabaseInUseError: Another service owns it.
        KovaError: The database cannot be used.
    """
    async with connected(settings, environ, kind=SERVICE, drives=True) as connection:
        if connection.house is None:
            status = await connection.control.status()
            msg = f"process {status.pid} is a kova-auto serve of {settings.data_dir} already; stop it first"
            raise DatabaseInUseError(msg)
        yield connection.house


async def _reach(
    settings: Settings, kind: str, stack: contextlib.AsyncExitStack, *, drives: bool = False
) -> Owner | RemoteControl | None:
    """Become the owner, or connect to it, until the stack ends; what begins or ends at this moment is given time to."""
    if settings.database != "sqlite":
        return None
    left_s, is_said = PATIENCE_S, False
    while isinstance(owner := acquire_owner(settings.data_dir, kind=kind), OwnedBy):
        if not drives or owner.kind == SERVICE:
            try:
                remote = await RemoteControl.connect(socket_path(settings.data_dir))
            except JournalBusyError:
                left_s -= AGAIN_S
                if left_s <= 0:
                    raise
            else:
                stack.push_async_callback(remote.close)
                return remote
        elif not is_said and owner.kind:
            LOG.warning("process %s (kova-auto %s) has the database; waiting for its end", owner.pid, owner.kind)
            is_said = True
        await asyncio.sleep(AGAIN_S)
    return stack.enter_context(owner)
