"""Views are folds: written anew from the journal they are the same, whatever happened."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from random import Random

import pytest
from sqlalchemy import Connection, Table, delete, insert, select, update

from kova_auto.core.delivery.alert import alert, raised
from kova_auto.core.delivery.notice import ScheduleNotice
from kova_auto.core.event import DeliveryStarted
from kova_auto.core.ids import RunId
from kova_auto.core.ports import Unavailable
from kova_auto.core.run import opened
from kova_auto.store.store import Store
from kova_auto.store.tables import APPROVAL, DELIVERY, EVENT, RUN, USAGE
from tests.support import a_request, at, ready
from tests.walks import a_talkative_request, walk

LEASE = timedelta(hours=1)
VIEWS = (RUN, APPROVAL, DELIVERY, USAGE)


async def a_busy_store(store: Store, seed: int, runs: int = 4, steps: int = 60) -> None:
    """Fill a store with runs that went anywhere, their writers' states out of date now and then."""
    chance = Random(seed)
    for index in range(runs):
        request = a_talkative_request(f"job{index}@1")
        stale, _ = await store.journal.open(request)
        for state, event in walk(opened(request), chance, steps):
            stale = state if chance.random() < 0.8 else stale
            stale = await store.journal.append(stale, event)


async def rows_of(store: Store, table: Table) -> list[dict[str, object]]:
    """Return everything that a table holds."""
    order = list(table.primary_key)
    return await store.database.read(
        lambda connection: [dict(row) for row in connection.execute(select(table).order_by(*order)).mappings()]
    )


def emptied(connection: Connection, table: Table) -> None:
    """Lose everything that a table holds."""
    connection.execute(delete(table))


@pytest.mark.parametrize("seed", range(3))
async def test_views_are_what_the_journal_says_and_stay_so_when_rebuilt(store: Store, seed: int) -> None:
    await a_busy_store(store, seed)
    before = [await rows_of(store, table) for table in VIEWS]

    assert await store.compare_views() == []
    assert await store.rebuild_views() == 4
    assert [await rows_of(store, table) for table in VIEWS] == before


async def test_views_that_were_lost_are_made_from_the_journal(store: Store) -> None:
    await a_busy_store(store, seed=1)
    before = [await rows_of(store, table) for table in VIEWS]
    for table in VIEWS:
        await store.database.write(partial(emptied, table=table))

    lost = await store.compare_views()
    await store.rebuild_views()

    assert [line for line in lost if line.startswith("run ")] == [
        f"run job{index}@1: the row is missing" for index in range(4)
    ]
    assert [await rows_of(store, table) for table in VIEWS] == before


async def test_a_row_that_is_wrong_is_named_and_put_right(store: Store) -> None:
    await store.journal.open(a_request("nightly@1"))
    await store.database.write(lambda connection: connection.execute(update(RUN).values(attempt=7)).rowcount)

    assert await store.compare_views() == ["run nightly@1: attempt is 7, the journal says 1"]
    await store.rebuild_views()
    assert await store.compare_views() == []


async def test_a_row_that_the_journal_does_not_know_is_named_and_removed(store: Store) -> None:
    await store.journal.open(a_request("nightly@1"))
    await store.database.write(lambda connection: connection.execute(delete(EVENT)).rowcount)

    assert await store.compare_views() == ["run nightly@1: the journal knows nothing of it"]
    await store.rebuild_views()
    assert await store.views.runs() == []


async def test_a_rebuild_lets_leases_stand(store: Store) -> None:
    await store.journal.open(a_request("nightly@1"))
    await store.journal.acquire(RunId("nightly@1"), worker="one", now=at("06:00:00"), lease=LEASE)

    await store.rebuild_views()

    again = await store.journal.acquire(RunId("nightly@1"), worker="two", now=at("06:30:00"), lease=LEASE)
    assert again is Unavailable.HELD


async def test_what_the_dead_held_can_be_taken_at_once_and_counts_as_broken(store: Store) -> None:
    await store.journal.open(a_request("nightly@1"))
    await store.journal.acquire(RunId("nightly@1"), worker="dead", now=at("06:00:00"), lease=LEASE)

    await store.end_leases(at("06:00:01"))

    assert ready(await store.views.agenda(at("06:00:01"))) == ["nightly@1"]
    await store.journal.acquire(RunId("nightly@1"), worker="two", now=at("06:00:01"), lease=LEASE)
    facts = await store.journal.events(RunId("nightly@1"), after=2)
    assert [getattr(event, "lease_broken", None) for _, event in facts] == [True]


async def test_what_alerts_owe_is_made_from_their_facts(store: Store) -> None:
    now = at("07:15:00")
    fields = {"what": "late", "job": "nightly", "late_s": 0.0, "nominal_at": now, "expected_at": now, "noticed_at": now}
    fact = alert(ScheduleNotice.model_validate(fields), ["ci", "ops"])
    await store.ledger.settle([], [], alerts=[fact])
    key = next(iter(raised(fact).deliveries))
    await store.alerts.tell(fact.alert_id, DeliveryStarted(at=now, delivery_id=key, attempt=1))
    before = await rows_of(store, DELIVERY)
    assert await store.compare_views() == []

    await store.database.write(partial(emptied, table=DELIVERY))
    assert len(await store.compare_views()) == 2
    await store.database.write(partial(a_stray, before=before))
    await store.rebuild_views()
    assert [await rows_of(store, DELIVERY), await store.compare_views()] == [before, []]


def a_stray(connection: Connection, before: list[dict[str, object]]) -> None:
    """Owe what no alert says."""
    connection.execute(insert(DELIVERY), [{**before[0], "delivery_id": "msg_stray"}])
