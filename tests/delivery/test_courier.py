"""Duties from the journal to their receivers: what is tried, what waits for whom, and what is on record of it."""

from __future__ import annotations

import asyncio

import pytest

from kova_auto.core.approval.levels import Decision
from kova_auto.core.event import ApprovalDecided, DeliveryRequeued, DeliveryStarted
from kova_auto.core.ids import CallId
from kova_auto.core.net.http import FailureKind, HttpFailure
from tests.delivery.desks import Desk

DOWN = HttpFailure(FailureKind.CONNECT, written=False, detail="no connection")


async def test_a_duty_is_announced_done_and_recorded() -> None:
    desk = Desk()
    state = await desk.owes("ci")

    assert await desk.courier().deliver_due() == 1
    assert await desk.courier().deliver_due() == 0
    facts = [event.kind for _, event in await desk.journal.events(state.run_id)]
    assert facts == ["run_requested", "run_finished", "delivery_started", "delivery_finished"]
    assert [(row.status, row.attempts, row.http_status) for row in await desk.rows()] == [("delivered", 1, 204)]


async def test_an_endpoint_that_hangs_delays_no_other_even_later_on() -> None:
    desk = Desk(answers={"slow": None})
    await desk.owes("slow")
    async with desk.serving():
        await desk.until(lambda: desk.sent == ["slow"])
        await desk.owes("ci", name="nightly@2")
        desk.bell.set()
        await desk.until(lambda: desk.sent == ["slow", "ci"])
        await desk.until(lambda: desk.journal.asked["delivery_finished"] == 1)

    assert await desk.statuses() == {"slow": "delivered", "ci": "delivered"}


async def test_to_one_endpoint_one_thing_at_a_time_and_all_of_them() -> None:
    desk = Desk(answers={"ci": None})
    for number in range(3):
        await desk.owes("ci", name=f"nightly@{number}")
    async with desk.serving():
        await desk.until(lambda: desk.sent == ["ci"])
        desk.goes_on.set()
        await desk.until(lambda: desk.journal.asked["delivery_finished"] == 3)

    assert desk.sent == ["ci", "ci", "ci"]


async def test_a_stop_lets_the_attempt_end_and_begins_no_other() -> None:
    desk = Desk(answers={"ci": None})
    await desk.owes("ci", name="nightly@1")
    await desk.owes("ci", name="nightly@2")
    async with desk.serving() as serving:
        await desk.until(lambda: desk.sent == ["ci"])
        desk.stop.set()
        desk.bell.set()
        desk.goes_on.set()
        await asyncio.wait({serving})

    assert [row.status for row in await desk.rows()] == ["delivered", "pending"]


async def test_a_duty_that_breaks_is_no_other_s_misfortune() -> None:
    desk = Desk(answers={"bad": ZeroDivisionError()})
    await desk.owes("bad", "ci")
    async with desk.serving() as serving:
        await desk.until(lambda: desk.journal.asked["delivery_finished"] == 1)
        assert not serving.done()

    assert await desk.statuses() == {"bad": "pending", "ci": "delivered"}
    desk.answers.clear()
    desk.clock.later(121)
    assert await desk.courier().deliver_due() == 0
    assert [(row.status, row.result) for row in await desk.rows() if row.endpoint == "bad"] == [
        ("waiting", "ambiguous")
    ]


async def test_a_journal_that_does_not_answer_for_one_duty_delays_no_other() -> None:
    desk = Desk()
    desk.journal.faults["delivery_started"] = 1
    await desk.owes("a", "b")

    assert await desk.courier().deliver_due() == 1
    assert sorted((await desk.statuses()).values()) == ["delivered", "pending"]
    desk.clock.later(121)
    assert await desk.courier().deliver_due() == 1
    assert await desk.statuses() == {"a": "delivered", "b": "delivered"}


async def test_a_journal_that_does_not_answer_at_all_is_asked_again() -> None:
    desk = Desk()
    desk.journal.faults["due_endpoints"] = 1
    await desk.owes("ci")
    async with desk.serving():
        await desk.journal.wait_for("due_endpoints", 1)
        desk.bell.set()
        await desk.until(lambda: desk.sent == ["ci"])


async def test_an_endpoint_without_its_secret_keeps_its_messages_until_that_is_mended() -> None:
    desk = Desk(broken={"ci"})
    await desk.owes("ci", "team")
    courier = desk.courier()
    for _ in range(200):
        await courier.deliver_due()
        desk.clock.later(60)

    (ci,) = [row for row in await desk.rows() if row.endpoint == "ci"]
    assert (ci.status, ci.attempts, ci.detail) == ("waiting", 1, "wanted a secret in env HOOK: found none")
    assert desk.sent == ["team"]
    desk.broken.clear()
    assert await courier.deliver_due() == 1
    assert await desk.statuses() == {"ci": "delivered", "team": "delivered"}


async def test_the_duties_of_one_run_are_done_however_many_others_wait() -> None:
    desk = Desk()
    for number in range(101):
        await desk.owes("ci", name=f"nightly@{number:03}")
    desk.clock.later(1)
    mine = await desk.owes("ci", name="mine@1")

    assert await desk.courier().deliver_due(only=mine.run_id) == 1
    assert len(desk.sent) == 1


async def test_an_attempt_that_was_cut_off_is_made_again_under_its_id_and_known_to_be_in_doubt() -> None:
    desk = Desk()
    state = await desk.owes("ci")
    (row,) = await desk.rows()
    started = DeliveryStarted(at=desk.clock.now(), delivery_id=row.delivery_id, attempt=1)
    await desk.journal.append(state, started)

    assert await desk.courier().deliver_due() == 0
    assert [(row.status, row.result) for row in await desk.rows()] == [("waiting", "ambiguous")]
    desk.clock.later(10)
    assert await desk.courier().deliver_due() == 1
    assert await desk.statuses() == {"ci": "delivered"}


async def test_two_couriers_make_one_attempt() -> None:
    desk = Desk(answers={"ci": None})
    await desk.owes("ci")
    both = asyncio.gather(desk.courier("one").deliver_due(), desk.courier("two").deliver_due())
    await desk.until(lambda: desk.sent == ["ci"])
    desk.goes_on.set()

    assert sorted(await both) == [0, 1]
    assert desk.sent == ["ci"]


async def test_a_courier_whose_lease_was_over_records_nothing_twice() -> None:
    desk = Desk(answers={"ci": None})
    await desk.owes("ci")
    late = asyncio.create_task(desk.courier("one").deliver_due())
    await desk.until(lambda: desk.sent == ["ci"])
    desk.clock.later(121)
    assert await desk.courier("two").deliver_due() == 0
    desk.goes_on.set()
    await late

    assert [(row.status, row.result, row.attempts) for row in await desk.rows()] == [("waiting", "ambiguous", 1)]


@pytest.mark.parametrize("requeued", [False, True])
async def test_a_request_for_approval_is_not_sent_once_it_is_answered(requeued: bool) -> None:
    desk = Desk(answers={"team": DOWN})
    state = await desk.asks("team")
    await desk.courier().deliver_due()
    decided = ApprovalDecided(at=desk.clock.now(), call_id=CallId("1.1"), decision=Decision.ONCE, by="ann")
    state = await desk.journal.append(await desk.journal.load(state.run_id), decided)
    if requeued:
        (row,) = await desk.rows()
        asked = DeliveryRequeued(at=desk.clock.now(), delivery_id=row.delivery_id, by="ann")
        await desk.journal.append(state, asked)
    desk.answers.clear()
    desk.clock.later(60)
    await desk.courier().deliver_due()

    assert desk.sent == ["team", "team"]
    assert await desk.statuses() == {"team": "expired"}


async def test_a_request_for_approval_that_a_person_asks_for_again_is_sent() -> None:
    desk = Desk(answers={"team": DOWN})
    state = await desk.asks("team")
    await desk.courier().deliver_due()
    (row,) = await desk.rows()
    asked = DeliveryRequeued(at=desk.clock.now(), delivery_id=row.delivery_id, by="ann")
    await desk.journal.append(await desk.journal.load(state.run_id), asked)
    desk.answers.clear()

    assert await desk.courier().deliver_due() == 1
    assert await desk.statuses() == {"team": "delivered"}


async def test_a_request_for_approval_is_not_sent_when_its_time_is_over() -> None:
    desk = Desk()
    await desk.asks("team")
    desk.clock.later(3600)

    assert await desk.courier().deliver_due() == 0
    assert (desk.sent, await desk.statuses()) == ([], {"team": "expired"})


async def test_secrets_are_taken_out_of_what_is_sent_and_of_what_is_recorded() -> None:
    desk = Desk(answers={"ci": HttpFailure(FailureKind.NAME, written=False, detail="no host hunter2.example.org")})
    await desk.owes("ci")
    await desk.courier().deliver_due()

    assert [row.detail for row in await desk.rows()] == ["no host ….example.org"]
