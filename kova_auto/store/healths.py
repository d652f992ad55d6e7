"""Keep how endpoints are doing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from sqlalchemy import Connection

from kova_auto.core.delivery.health import Health, Raising, nothing
from kova_auto.core.ids import EndpointName
from kova_auto.store.alerts import guarded_fact, raise_alerts
from kova_auto.store.database import Database
from kova_auto.store.rows import found, inserting, save, selecting, values
from kova_auto.store.tables import ENDPOINT

_EVERY = selecting(ENDPOINT, Health).order_by(ENDPOINT.c.endpoint)


class SqlHealths:
    """Keep it in a database; see `core/delivery/health.py` for what each method promises."""

    def __init__(self, database: Database, guard: Callable[[str], str]) -> None:
        self._database, self._guard = database, guard

    async def every(self) -> Sequence[Health]:
        """Return what is known of endpoints, by name."""
        return await self._database.read(partial(found, statement=_EVERY, kind=Health))

    async def change(
        self, endpoint: EndpointName, how: Callable[[Health], Health], raising: Raising = nothing
    ) -> tuple[Health, Health]:
        """Write what is to be known of an endpoint from now on, with alerts; return it as it was and as it is."""

        def work(connection: Connection) -> tuple[Health, Health]:
            before, after = _change(connection, endpoint, how)
            raise_alerts(connection, [guarded_fact(alert, self._guard) for alert in raising(before, after)])
            return before, after

        return await self._database.write(work)


def _change(connection: Connection, endpoint: EndpointName, how: Callable[[Health], Health]) -> tuple[Health, Health]:
    # Whoever comes second on PostgreSQL waits here for the first, and sees what that has written.
    new = values(Health(endpoint=endpoint))
    connection.execute(inserting(connection.dialect.name, ENDPOINT).on_conflict_do_nothing(), new)
    (before,) = found(connection, _EVERY.where(ENDPOINT.c.endpoint == endpoint).with_for_update(), Health)
    after = how(before)
    if after != before:
        save(connection, ENDPOINT, [after])
    return before, after
