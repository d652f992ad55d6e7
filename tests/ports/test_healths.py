"""What every keeper of the endpoints' health promises: one suite for SQLite, PostgreSQL and the double."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from kova_auto.core.delivery.alert import AlertRaised, alert
from kova_auto.core.delivery.health import Health, Healths
from kova_auto.core.delivery.notice import EndpointNotice
from kova_auto.core.ids import EndpointName
from kova_auto.core.ports import Views
from kova_auto.store.store import open_store
from tests.doubles.healths import MemoryHealths
from tests.doubles.journal import MemoryJournal
from tests.support import at

NOW = at("06:00:00")
CI, TEAM = EndpointName("ci"), EndpointName("team")
SICK = Health(
    endpoint=CI,
    failures=20,
    failing_since=NOW,
    last_failure="no answer",
    last_success_at=NOW - timedelta(days=1),
    paused_until=NOW + timedelta(hours=1),
    paused_why="429",
    disabled_at=NOW,
    disabled_why="410",
    gone=True,
    probe_at=NOW + timedelta(days=1),
    told="team",
)


@dataclass(frozen=True)
class Kept:
    """Hold one keeper, with the views that show what alerts owe."""

    healths: Healths
    views: Views


@pytest.fixture(params=["sqlite", "postgresql", "memory"])
async def kept(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Kept]:
    if request.param == "memory":
        journal = MemoryJournal()
        yield Kept(MemoryHealths(journal._alerts), journal)
        return
    place = str(tmp_path / "journal.db")
    if request.param == "postgresql":
        place = request.getfixturevalue("on_postgresql")
    store = open_store(place, create=True)
    yield Kept(store.healths, store.views)
    await store.close()


@pytest.fixture
def healths(kept: Kept) -> Healths:
    return kept.healths


def one_more(health: Health) -> Health:
    return health.model_copy(update={"failures": health.failures + 1})


async def test_nothing_is_known_of_an_endpoint_that_nothing_was_sent_to(healths: Healths) -> None:
    assert list(await healths.every()) == []


async def test_what_is_known_is_changed_and_kept_whole(healths: Healths) -> None:
    assert await healths.change(CI, lambda _: SICK) == (Health(endpoint=CI), SICK)
    assert await healths.change(CI, one_more) == (SICK, one_more(SICK))
    assert list(await healths.every()) == [one_more(SICK)]


async def test_endpoints_are_known_by_name_one_beside_the_other(healths: Healths) -> None:
    await healths.change(TEAM, one_more)
    await healths.change(CI, lambda health: health)

    assert list(await healths.every()) == [Health(endpoint=CI), Health(endpoint=TEAM, failures=1)]


async def test_of_changes_at_the_same_time_none_is_lost(healths: Healths) -> None:
    await asyncio.gather(*(healths.change(CI, one_more) for _ in range(20)))

    assert [health.failures for health in await healths.every()] == [20]


def tells(_: Health, after: Health) -> list[AlertRaised]:
    said = EndpointNotice(what="disabled", endpoint=after.endpoint, happened_at=NOW, since=NOW)
    return [alert(said, ["team", "ops", "team"])]


async def test_an_alert_is_raised_with_the_change_and_once_however_often_that_is_made(kept: Kept) -> None:
    for _ in range(3):
        await kept.healths.change(CI, one_more, tells)

    rows = await kept.views.due_deliveries(NOW)
    assert sorted((row.endpoint, row.cause, row.run_id) for row in rows) == [
        ("ops", "alert", "ci@20261201T060000Z/disabled"),
        ("team", "alert", "ci@20261201T060000Z/disabled"),
    ]


async def test_where_an_alert_cannot_be_raised_nothing_changes(kept: Kept) -> None:
    def breaks(_: Health, __: Health) -> list[AlertRaised]:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await kept.healths.change(CI, one_more, breaks)
    assert list(await kept.healths.every()) == []
