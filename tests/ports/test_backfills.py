"""What every keeper of backfills promises: one suite for SQLite, PostgreSQL and the double."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kova_auto.core.backfill import Backfill, Backfills, BackfillStatus
from kova_auto.core.ids import JobName, RunId
from kova_auto.store.store import open_store
from tests.doubles.backfills import MemoryBackfills
from tests.scheduling.test_filling import item

NIGHTLY = JobName("nightly")


@pytest.fixture(params=["sqlite", "postgresql", "memory"])
async def backfills(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backfills]:
    if request.param == "memory":
        yield MemoryBackfills()
        return
    place = str(tmp_path / "journal.db")
    if request.param == "postgresql":
        place = request.getfixturevalue("on_postgresql")
    store = open_store(place, create=True)
    yield store.backfills
    await store.close()


def opened(one: Backfill) -> Backfill:
    return one.model_copy(update={"status": BackfillStatus.OPENED, "run_id": RunId("nightly+1")})


async def test_what_was_asked_for_waits_in_its_order(backfills: Backfills) -> None:
    later, second, first = item("05:00:00", asked="13:00:00"), item("07:00:00"), item("06:00:00")
    other = item("06:00:00", job="weekly")
    assert await backfills.ask([second, first, other]) == [second, first, other]
    assert await backfills.ask([later]) == [later]

    assert await backfills.waiting() == [first, other, second, later]
    assert await backfills.waiting(NIGHTLY) == [first, second, later]


async def test_an_instant_that_waits_is_not_asked_for_again_until_it_was_settled(backfills: Backfills) -> None:
    one, again = item("06:00:00"), item("06:00:00", asked="13:00:00")
    await backfills.ask([one])
    assert await backfills.ask([again, item("07:00:00")]) == [item("07:00:00")]

    assert await backfills.settle(opened(one))
    assert await backfills.ask([again]) == [again]


async def test_an_item_is_settled_once(backfills: Backfills) -> None:
    one = item("06:00:00")
    await backfills.ask([one])
    waits = one.model_copy(update={"why": "no money"})
    assert await backfills.settle(waits)
    assert await backfills.waiting() == [waits]

    assert [await backfills.settle(opened(one)) for _ in range(2)] == [True, False]
    assert await backfills.waiting() == []


async def test_dropping_counts_what_waited(backfills: Backfills) -> None:
    await backfills.ask([item("06:00:00"), item("07:00:00"), item("06:00:00", job="weekly")])
    await backfills.settle(opened(item("07:00:00")))

    assert [await backfills.drop(NIGHTLY) for _ in range(2)] == [1, 0]
    assert await backfills.waiting() == [item("06:00:00", job="weekly")]
