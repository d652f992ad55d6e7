"""What only a shared server can do to a journal: come and go, and be written by several at once."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from kova_auto.core.errors import FencedError, JournalBusyError, SettingsError
from kova_auto.core.event import DeliveryRequeued, RunFinished, StopRequested
from kova_auto.core.ids import JobName
from kova_auto.core.job import Outcome
from kova_auto.core.ports import Unavailable
from kova_auto.core.run import RunState
from kova_auto.store.store import Store, open_store
from tests.postgres import PostgresServer
from tests.support import ROOT, a_job, a_request, at

LEASE = timedelta(seconds=30)


@pytest.fixture
async def two(postgres: PostgresServer) -> AsyncIterator[tuple[Store, Store]]:
    """Open one database twice, as two machines would."""
    url = postgres.new_database()
    stores = (open_store(url, create=True), open_store(url, create=False))
    yield stores
    for store in stores:
        await store.close()


async def test_two_machines_racing_lose_nothing(two: tuple[Store, Store]) -> None:
    state, _ = await two[0].journal.open(a_request(job=a_job(notify=({"endpoint": "ci"},))))
    state = await two[0].journal.append(state, RunFinished(at=at("06:00:01"), outcome=Outcome.FAILED))
    owed = next(iter(state.deliveries))

    async def press(store: Store) -> None:
        for _ in range(10):
            await store.journal.append(state, DeliveryRequeued(at=at("06:00:02"), delivery_id=owed, by="ada"))

    await asyncio.gather(*(press(store) for store in two for _ in range(8)))

    assert [seq for seq, _ in await two[1].journal.events(state.run_id)] == list(range(1, 163))
    assert await two[1].compare_views() == []


async def test_two_machines_make_one_run_of_an_occurrence(two: tuple[Store, Store]) -> None:
    request = a_request()

    claims = await asyncio.gather(
        *(
            store.ledger.claim(JobName("nightly"), "hash", was=None, cursor=at("06:00:00"), runs=[request])
            for store in two
            for _ in range(8)
        )
    )

    assert claims.count(True) == 1
    assert len(await two[1].journal.events(request.run_id)) == 1


async def test_a_frozen_worker_of_another_machine_writes_nothing(two: tuple[Store, Store]) -> None:
    frozen, healthy = two
    await frozen.journal.open(a_request())
    old = await frozen.journal.acquire(a_request().run_id, worker="frozen", now=at("06:00:00"), lease=LEASE)
    new = await healthy.journal.acquire(a_request().run_id, worker="healthy", now=at("06:01:00"), lease=LEASE)
    assert isinstance(old, RunState)

    with pytest.raises(FencedError):
        await frozen.journal.append(old, RunFinished(at=at("06:01:01"), outcome=Outcome.DONE), epoch=old.epoch)

    assert await frozen.journal.load(old.run_id) == new
    again = await frozen.journal.acquire(old.run_id, worker="frozen", now=at("06:01:01"), lease=LEASE)
    assert again is Unavailable.HELD


async def test_many_may_open_an_empty_database_at_once(postgres: PostgresServer) -> None:
    url = postgres.new_database()

    stores = await asyncio.gather(*(asyncio.to_thread(open_store, url, create=True) for _ in range(8)))

    assert [await store.views.runs() for store in stores] == [[]] * 8
    await asyncio.gather(*(store.close() for store in stores))


async def test_a_server_that_went_away_is_busy_and_works_when_it_is_back(postgres: PostgresServer) -> None:
    url = postgres.new_database()
    store = open_store(url, create=True)
    state, _ = await store.journal.open(a_request())
    stop = StopRequested(at=at("06:00:01"), outcome=Outcome.CANCELLED, reason="", by="ada")

    postgres.stop("immediate")
    for _ in range(2):
        with pytest.raises(JournalBusyError, match="did not answer") as busy:
            await store.journal.append(state, stop)
        assert busy.value.retryable
    with pytest.raises(JournalBusyError):
        open_store(url, create=True)
    postgres.start()

    assert (await store.journal.append(state, stop)).seq == 2
    await store.close()


async def test_a_wrong_url_is_a_mistake_in_the_settings_and_is_not_repeated() -> None:
    with pytest.raises(SettingsError, match=r"wanted a URL as postgresql://user@host/name") as refused:
        open_store("postgresql://user:hunter2@host:port/name", create=True)
    assert "hunter2" not in str(refused.value)


async def test_a_password_is_not_in_the_error_of_a_server_that_is_not_there() -> None:
    with pytest.raises(JournalBusyError, match=r"name on 127\.0\.0\.1") as refused:
        open_store("postgresql://user:hunter2@127.0.0.1:1/name", create=True)
    assert "hunter2" not in str(refused.value)


def test_a_missing_driver_names_the_extra() -> None:
    program = """
import sys
sys.modules["psycopg"] = None
from kova_auto.core.errors import SettingsError
from kova_auto.store.store import open_store
try:
    open_store("postgresql://host/name", create=True)
except SettingsError as exc:
    print(exc)
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)

    assert "database: PostgreSQL needs the driver psycopg" in done.stdout
    assert "pip install 'kova-auto[postgres]'" in done.stdout
