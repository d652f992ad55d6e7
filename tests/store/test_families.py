"""What a real database does with children: one transaction for an end, whoever else writes, and whatever fails."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from kova_auto.core.event import FamilyCounted
from kova_auto.core.ids import CallId, RunId, child_run_id
from kova_auto.store.store import Store, open_store
from tests.ports.families import PARENT, a_parent, answers, ended
from tests.postgres import PostgresServer
from tests.support import at

FIRST = child_run_id(PARENT, CallId("1.1"))


class Guard:
    """Fail at a fact of one kind, in the transaction that would write it."""

    def __init__(self) -> None:
        self.refuses = ""

    def __call__(self, text: str) -> str:
        if self.refuses and f'"kind":"{self.refuses}"' in text:
            message = "no room left"
            raise OSError(message)
        return text


async def test_where_a_parent_cannot_be_told_its_child_has_not_ended(place: str) -> None:
    guard = Guard()
    store = open_store(place, create=True, guard=guard)
    await a_parent(store.journal, 1)
    child = await answers(store.journal, FIRST)
    guard.refuses = "child_finished"
    with pytest.raises(OSError, match="no room left"):
        await store.journal.append(child, ended())
    before, row = await store.journal.load(FIRST), await store.views.run(FIRST)
    guard.refuses = ""
    after = await store.journal.append(child, ended())
    parent, differences = await store.journal.load(PARENT), await store.compare_views()
    await store.close()

    assert before.finished is None
    assert row
    assert row.finished_at is None
    assert after.finished
    assert parent.children[CallId("1.1")].finished
    assert differences == []


@pytest.fixture
async def two(postgres: PostgresServer) -> AsyncIterator[tuple[Store, Store]]:
    """Open one database twice, as two machines would."""
    url = postgres.new_database()
    stores = (open_store(url, create=True), open_store(url, create=False))
    yield stores
    for store in stores:
        await store.close()


async def test_children_that_end_at_the_same_moment_on_two_machines_are_all_told_of(two: tuple[Store, Store]) -> None:
    parent = await a_parent(two[0].journal, 16)
    children = [
        await answers(two[number % 2].journal, child.run_id) for number, child in enumerate(parent.children.values())
    ]

    async def end(store: Store, run_id: RunId) -> None:
        await store.journal.append(await store.journal.load(run_id), ended())

    async def counts(store: Store) -> None:
        for _ in range(5):
            fact = FamilyCounted(at=at("06:00:04"), tokens=1, cost_usd=0.0, members=9)
            await store.journal.append(parent, fact)

    async with asyncio.timeout(60):
        ends = (end(two[number % 2], child.run_id) for number, child in enumerate(children))
        await asyncio.gather(*ends, counts(two[0]), counts(two[1]))
    facts = await two[1].journal.events(PARENT)
    after = await two[0].journal.load(PARENT)

    assert [seq for seq, _ in facts] == list(range(1, len(facts) + 1))
    assert all(child.finished for child in after.children.values())
    assert [fact.kind for _, fact in facts].count("child_finished") == 16
    assert await two[1].compare_views() == []
