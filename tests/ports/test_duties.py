"""What views answer about duties to tell, and who takes one: one suite for SQLite, PostgreSQL and the double."""

from __future__ import annotations

import pytest

from kova_auto.core.event import DeliveryFinished, DeliveryStarted
from kova_auto.core.ids import DeliveryId, EndpointName, RunId
from kova_auto.core.ports import Journal, Views
from kova_auto.core.view import DueEndpoint, delivery_rows
from tests.ports.test_views import LEASE, a_failed_attempt, a_run, asks, ends
from tests.support import at


async def test_duties_are_listed_newest_first_and_by_what_they_are(journal: Journal, views: Views) -> None:
    old = await a_run(journal, "nightly@1", ends("06:00:05"))
    new = await a_run(journal, "nightly@2", ends("07:00:05"))
    owed = next(iter(old.deliveries))
    old = await journal.append(old, DeliveryStarted(at=at("07:01:00"), delivery_id=owed, attempt=1))
    old = await journal.append(old, a_failed_attempt(owed, next_at="07:30:00"))

    assert await views.deliveries() == [*delivery_rows(new), *delivery_rows(old)]
    assert await views.deliveries(limit=1) == list(delivery_rows(new))
    assert await views.deliveries(status="waiting") == list(delivery_rows(old))
    assert await views.deliveries(status="pending", endpoint="ci") == list(delivery_rows(new))
    assert await views.deliveries(endpoint="elsewhere") == []
    assert await views.deliveries(run_id=old.run_id) == list(delivery_rows(old))
    assert await views.delivery(owed) == delivery_rows(old)[0]
    assert await views.delivery(DeliveryId("msg_none")) is None


async def test_duties_fall_due_oldest_first(journal: Journal, views: Views) -> None:
    new = await a_run(journal, "nightly@2", ends("07:00:05"))
    old = await a_run(journal, "nightly@1", ends("06:00:05"))
    later = await a_run(journal, "nightly@3", ends("06:30:05"))
    owed = next(iter(later.deliveries))
    later = await journal.append(later, DeliveryStarted(at=at("07:00:00"), delivery_id=owed, attempt=1))
    later = await journal.append(later, a_failed_attempt(owed, next_at="07:30:00"))

    assert await views.due_deliveries(at("07:29:59")) == [*delivery_rows(old), *delivery_rows(new)]
    assert await views.due_deliveries(at("07:30:00")) == [
        *delivery_rows(old),
        *delivery_rows(later),
        *delivery_rows(new),
    ]
    assert await views.due_deliveries(at("07:30:00"), limit=1) == list(delivery_rows(old))
    assert await views.due_deliveries(at("07:30:00"), run_id=new.run_id, limit=1) == list(delivery_rows(new))
    assert await views.due_deliveries(at("07:30:00"), endpoint="ci", limit=1) == list(delivery_rows(old))
    assert await views.due_deliveries(at("07:30:00"), endpoint="elsewhere") == []
    assert await views.due_endpoints(at("07:29:59")) == [DueEndpoint(endpoint=EndpointName("ci"), due=2, urgent=0)]
    assert await views.due_endpoints(at("07:30:00"), run_id=new.run_id) == [
        DueEndpoint(endpoint=EndpointName("ci"), due=1, urgent=0)
    ]
    assert await views.due_endpoints(at("05:00:00"), run_id=RunId("nightly@9")) == []


async def test_what_somebody_waits_for_falls_due_before_all_else(journal: Journal, views: Views) -> None:
    result = await a_run(journal, "nightly@1", ends("06:00:05"))
    asking = await a_run(journal, "ask@2", *asks(), asked=("ci",))

    assert await views.due_deliveries(at("07:30:00")) == [*delivery_rows(asking), *delivery_rows(result)]
    assert await views.due_endpoints(at("07:30:00")) == [DueEndpoint(endpoint=EndpointName("ci"), due=2, urgent=1)]


async def test_a_duty_is_taken_by_one_until_it_is_given_back_or_its_lease_runs_out(
    journal: Journal, views: Views
) -> None:
    state = await a_run(journal, "nightly@1", ends("06:00:05"))
    owed = next(iter(state.deliveries))
    now = at("06:01:00")

    async def take(owner: str, clock: str = "06:01:00") -> bool:
        return await views.lease_delivery(owed, owner=owner, now=at(clock), lease=LEASE)

    assert [await take("one"), await take("two")] == [True, False]
    assert await views.due_deliveries(now) == []
    await views.release_delivery(owed, owner="two")
    assert await take("two") is False
    await views.release_delivery(owed, owner="one")
    assert [await take("two"), await take("one", "06:01:29"), await take("one", "06:01:30")] == [True, False, True]


@pytest.mark.parametrize("status", ["delivered", "dead"])
async def test_a_duty_that_is_done_with_is_not_taken(journal: Journal, views: Views, status: str) -> None:
    state = await a_run(journal, "nightly@1", ends("06:00:05"))
    owed = next(iter(state.deliveries))
    state = await journal.append(state, DeliveryStarted(at=at("06:01:00"), delivery_id=owed, attempt=1))
    end = DeliveryFinished(at=at("06:01:01"), delivery_id=owed, attempt=1, result=status, status=status)
    await journal.append(state, end)

    assert await views.due_deliveries(at("07:00:00")) == []
    assert not await views.lease_delivery(owed, owner="one", now=at("07:00:00"), lease=LEASE)


async def test_a_duty_that_waits_is_not_taken_early(journal: Journal, views: Views) -> None:
    state = await a_run(journal, "nightly@1", ends("06:00:05"))
    owed = next(iter(state.deliveries))
    state = await journal.append(state, DeliveryStarted(at=at("06:01:00"), delivery_id=owed, attempt=1))
    await journal.append(state, a_failed_attempt(owed, next_at="07:30:00"))

    assert not await views.lease_delivery(owed, owner="one", now=at("07:29:59"), lease=LEASE)
    assert await views.lease_delivery(owed, owner="one", now=at("07:30:00"), lease=LEASE)


async def test_a_courier_keeps_its_lease_while_the_duty_changes(journal: Journal, views: Views) -> None:
    state = await a_run(journal, "nightly@1", ends("06:00:05"))
    owed = next(iter(state.deliveries))
    await views.lease_delivery(owed, owner="one", now=at("06:01:00"), lease=LEASE)

    await journal.append(state, DeliveryStarted(at=at("06:01:00"), delivery_id=owed, attempt=1))

    assert await views.due_deliveries(at("06:01:01")) == []
