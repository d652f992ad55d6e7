"""Contents under their hash, in the same database as the facts that point to them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from sqlalchemy import Connection, bindparam, select

from kova_auto.core.errors import JournalError
from kova_auto.core.ids import BlobHash, blob_hash
from kova_auto.store.rows import inserting
from kova_auto.store.tables import BLOB

_LARGE_BYTES = 256 * 1024
_DATA = select(BLOB.c.data).where(BLOB.c.hash == bindparam("key"))


@dataclass(frozen=True, slots=True)
class Blob:
    """Hold a content and its hash."""

    key: BlobHash
    data: bytes

    @classmethod
    async def of(cls, data: bytes) -> Self:
        """Hash a content; a large one in a thread, so that the loop goes on."""
        if len(data) < _LARGE_BYTES:
            return cls(blob_hash(data), data)
        return cls(await asyncio.to_thread(blob_hash, data), data)


def keep(connection: Connection, blobs: Sequence[Blob]) -> None:
    """Write what is not there yet."""
    if not blobs:
        return
    statement = inserting(connection.dialect.name, BLOB).on_conflict_do_nothing()
    for blob in blobs:
        connection.execute(statement, {"hash": blob.key, "size": len(blob.data), "data": blob.data})


def data_of(connection: Connection, key: BlobHash) -> bytes:
    """Return a content.

    Raises:
        JournalError: There is none of this hash.
    """
    data = connection.execute(_DATA, {"key": key}).scalar_one_or_none()
    if data is None:
        msg = f"the journal holds no blob {key}"
        raise JournalError(msg)
    return bytes(data)
