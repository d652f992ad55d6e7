"""What every keeper of webhook requests promises: one suite for SQLite, PostgreSQL and the double."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from kova_auto.core.ids import JobName, RunId
from kova_auto.core.inbound.hook import KEPT_FOR, HookRequest, Hooks, HookStatus, hook_id
from kova_auto.core.ledger import Ledger, Occurrence, OccurrenceStatus
from kova_auto.store.store import open_store
from tests.doubles.hooks import MemoryHooks
from tests.doubles.journal import MemoryJournal
from tests.support import at

TICK = timedelta(microseconds=1)


@dataclass
class Kit:
    """Hold hooks, and the ledger beside them."""

    hooks: Hooks
    ledger: Ledger


@pytest.fixture(params=["sqlite", "postgresql", "memory"])
async def kit(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Kit]:
    if request.param == "memory":
        journal = MemoryJournal()
        yield Kit(MemoryHooks(journal), journal)
        return
    place = str(tmp_path / "journal.db")
    if request.param == "postgresql":
        place = request.getfixturevalue("on_postgresql")
    store = open_store(place, create=True)
    yield Kit(store.hooks, store.ledger)
    await store.close()


def a_request(key: str = "1", when: datetime | None = None, **changes: object) -> HookRequest:
    fields = {
        "hook_id": hook_id("deploy", "github", key),
        "job": "deploy",
        "source": "github",
        "delivery_id": key,
        "digest": f"digest-{key}",
        "received_at": when or at("06:00:00"),
        "event": "push",
        "actor": "ada",
        "status": HookStatus.ACCEPTED,
        "inputs": '{"branch": "main"}',
    }
    return HookRequest.model_validate({**fields, **changes})


def a_row(request: HookRequest, **changes: object) -> Occurrence:
    fields = {"job": request.job, "schedule": "s", "nominal_at": request.received_at, "due_at": request.received_at}
    return Occurrence.model_validate({**fields, "status": OccurrenceStatus.SKIPPED, "why": "overlap", **changes})


async def keep(kit: Kit, request: HookRequest, *ids: str, by_body: bool = False) -> tuple[HookRequest, bool]:
    kept = await kit.hooks.keep(request, ids or (request.delivery_id,), by_body=by_body)
    return kept.request, kept.is_new


async def test_a_request_is_kept_once(kit: Kit) -> None:
    request = a_request()
    assert await keep(kit, request) == (request, True)
    assert await keep(kit, a_request(when=at("07:00:00"), digest="other")) == (request, False)


async def test_of_many_at_once_one_is_new(kit: Kit) -> None:
    found = await asyncio.gather(*(keep(kit, a_request(when=at(f"06:00:0{second}"))) for second in range(8)))

    assert sum(is_new for _, is_new in found) == 1
    assert len({request.received_at for request, _ in found}) == 1


async def test_an_id_counts_for_one_job_and_one_source(kit: Kit) -> None:
    others = [a_request(job="other", hook_id="hook_b"), a_request(source="gitlab", hook_id="hook_c")]
    assert [(await keep(kit, one))[1] for one in (a_request(), *others)] == [True, True, True]


async def test_a_request_is_known_by_any_of_its_ids_and_where_that_counts_by_its_body(kit: Kit) -> None:
    first = a_request("now")
    await keep(kit, first)

    assert await keep(kit, a_request("later"), "later", "now") == (first, False)
    assert await keep(kit, a_request("2", digest=first.digest), by_body=True) == (first, False)
    assert (await keep(kit, a_request("2", digest=first.digest)))[1]


async def test_no_two_requests_of_a_job_share_an_instant(kit: Kit) -> None:
    found = [await keep(kit, a_request(key, when=at(clock))) for key, clock in (("1", "06:00:00"), ("2", "06:00:00"))]
    found.append(await keep(kit, a_request("3", when=at("05:00:00"))))
    other = await keep(kit, a_request("4", job="other", hook_id="hook_o"))

    assert [request.received_at - at("06:00:00") for request, _ in found] == [timedelta(0), TICK, 2 * TICK]
    assert other[0].received_at == at("06:00:00")


async def test_what_was_accepted_waits_until_it_has_its_row(kit: Kit) -> None:
    first, _ = await keep(kit, a_request("1"))
    second, _ = await keep(kit, a_request("2"))
    await keep(kit, a_request("3", status=HookStatus.IGNORED, why="event"))
    assert await kit.hooks.waiting() == [first, second]

    assert await kit.ledger.settle((), (a_row(first),))
    assert await kit.hooks.waiting() == [second]


async def test_what_is_settled_is_not_looked_at_again(kit: Kit) -> None:
    first, _ = await keep(kit, a_request("1"))
    ignored, _ = await keep(kit, a_request("2", status=HookStatus.IGNORED))
    await kit.hooks.settle([first, ignored])

    assert await kit.hooks.waiting() == []
    assert [row.status for row in await kit.hooks.rows()] == [HookStatus.IGNORED, HookStatus.SETTLED]
    await kit.hooks.settle([])


async def test_a_request_is_found_by_its_instant(kit: Kit) -> None:
    request, _ = await keep(kit, a_request())

    assert await kit.hooks.at(JobName("deploy"), request.received_at) == request
    assert await kit.hooks.at(JobName("deploy"), request.received_at + TICK) is None
    assert request.given == (("branch", "main"),)


async def test_requests_are_listed_with_what_became_of_them(kit: Kit) -> None:
    first, _ = await keep(kit, a_request("1"))
    second, _ = await keep(kit, a_request("2", when=at("07:00:00")))
    await keep(kit, a_request("3", job="other", hook_id="hook_other"))
    ran = {"status": OccurrenceStatus.RAN, "why": "", "run_id": RunId("deploy@1")}
    await kit.ledger.settle((), (a_row(first), a_row(second, **ran)))
    rows = await kit.hooks.rows(JobName("deploy"))

    assert [(row.hook_id, row.became, row.became_why, row.run_id) for row in rows] == [
        (second.hook_id, "ran", "", "deploy@1"),
        (first.hook_id, "skipped", "overlap", None),
    ]
    assert [row.hook_id for row in await kit.hooks.rows(like="hook_o")] == ["hook_other"]
    assert [row.hook_id for row in await kit.hooks.rows(like="hook%")] == []
    assert len(await kit.hooks.rows(limit=2)) == 2


@pytest.mark.parametrize("kit", ["sqlite", "postgresql"], indirect=True)
async def test_what_no_sender_repeats_any_more_is_forgotten_unless_it_is_still_to_run(kit: Kit) -> None:
    old, waits, open_ = [(await keep(kit, a_request(key)))[0] for key in ("1", "2", "3")]
    await kit.ledger.settle((), (a_row(old), a_row(waits, status=OccurrenceStatus.PENDING, why="")))
    await kit.hooks.settle([old, waits])
    await keep(kit, a_request("4", when=at("06:00:00") + KEPT_FOR + timedelta(hours=1)))

    assert [row.delivery_id for row in await kit.hooks.rows()] == ["4", open_.delivery_id, waits.delivery_id]
