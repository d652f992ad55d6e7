"""Who performs a run's steps, or is at a delivery, and until when."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, bindparam, select, update

from kova_auto.core.ids import RunId
from kova_auto.core.ports import Renewal
from kova_auto.store.tables import DELIVERY, RUN

_HELD = update(RUN).where(RUN.c.run_id == bindparam("id"), RUN.c.epoch == bindparam("held"))
_HEAD = select(RUN.c.head_seq).where(RUN.c.run_id == bindparam("id"))


def renew(connection: Connection, run_id: RunId, epoch: int, until: datetime) -> Renewal:
    """Extend a lease, if the epoch holds it."""
    held = _HELD.where(RUN.c.lease_owner.is_not(None)).values(lease_until=until).returning(RUN.c.head_seq)
    seq = connection.execute(held, {"id": run_id, "held": epoch}).scalar_one_or_none()
    if seq is not None:
        return Renewal(held=True, seq=seq)
    return Renewal(held=False, seq=connection.execute(_HEAD, {"id": run_id}).scalar_one_or_none() or 0)


def release(connection: Connection, run_id: RunId, epoch: int) -> None:
    """Give a lease back, if the epoch holds it."""
    connection.execute(_HELD.values(lease_owner=None, lease_until=None), {"id": run_id, "held": epoch})


def end_all(connection: Connection, now: datetime) -> None:
    """Let every lease run out; whose it was stays on record, so that the next to take a run knows that it broke."""
    for table in (RUN, DELIVERY):
        connection.execute(update(table).where(table.c.lease_until > now).values(lease_until=now))
