"""What becomes of a delivery over several attempts, when a receiver or the clock misbehaves."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from kova_auto.core.delivery.target import FormatName
from kova_auto.core.event import DeliveryFinished
from kova_auto.core.net.http import HttpFailure, HttpRequest, HttpResponse
from tests.delivery.desks import OK, Desk

UNFIT = HttpResponse(400, (), b"invalid_blocks")
TAKEN = HttpResponse(200, (), b"ok")
DOWN = HttpResponse(500)
HOUR = 3600


async def history(desk: Desk) -> list[DeliveryFinished]:
    """Return what came of each attempt at the one delivery, as it is on record."""
    (row,) = await desk.rows()
    return [event for _, event in await desk.journal.events(row.run_id) if isinstance(event, DeliveryFinished)]


@dataclass
class InTurn(Desk):
    """Answer one thing after the other."""

    script: list[HttpResponse] = field(default_factory=list)

    async def exchange(self, request: HttpRequest) -> HttpResponse | HttpFailure:
        self.requests.append(request)
        return self.script.pop(0)


async def test_22_what_does_not_fit_is_delivered_in_its_plainest_form_and_on_record_as_such() -> None:
    desk = InTurn(script=[UNFIT, TAKEN], formats={"team": FormatName.SLACK})
    await desk.owes("team")

    await desk.courier().deliver_due()

    rich, plain = (json.loads(request.body) for request in desk.requests)
    assert ("blocks" in rich, "blocks" in plain) == (True, False)
    assert "Well." in plain["text"]
    assert [(fact.result, fact.status) for fact in await history(desk)] == [
        ("bad_payload", "waiting"),
        ("delivered", "delivered"),
    ]


async def test_26_a_second_attempt_that_is_taken_leaves_both_on_record() -> None:
    desk = Desk(answers={"ci": DOWN})
    await desk.owes("ci")
    await desk.courier().deliver_due()

    desk.answers["ci"] = OK
    desk.clock.later(10)
    await desk.courier().deliver_due()

    assert [(fact.attempt, fact.result, fact.http_status) for fact in await history(desk)] == [
        (1, "server_error", 500),
        (2, "delivered", 204),
    ]


async def test_29_a_receiver_that_asks_for_two_days_is_parked_for_one_with_its_reason() -> None:
    desk = Desk(answers={"ci": HttpResponse(503, (("retry-after", "172800"),))})
    await desk.owes("ci")

    assert await desk.courier().deliver_due() == 1  # Whoever did it is free again at once.

    (fact,) = await history(desk)
    assert fact.next_at is not None
    assert 24 * HOUR <= (fact.next_at - desk.clock.now()).total_seconds() < 30 * HOUR
    assert "asked to wait 172800 s" in fact.detail


async def test_43_each_attempt_is_signed_for_its_own_moment() -> None:
    desk = Desk(answers={"ci": DOWN})
    await desk.owes("ci")
    await desk.courier().deliver_due()
    desk.answers["ci"] = OK
    desk.clock.jumps(2 * HOUR)
    await desk.courier().deliver_due()

    stamps = [int(dict(request.headers)["webhook-timestamp"]) for request in desk.requests]
    ids = {dict(request.headers)["webhook-id"] for request in desk.requests}
    assert (stamps[1] - stamps[0], len(ids)) == (2 * HOUR, 1)


async def test_43_a_clock_that_is_set_forward_makes_no_burst() -> None:
    desk = Desk(answers={"ci": DOWN})
    await desk.owes("ci")
    await desk.courier().deliver_due()

    desk.clock.jumps(2 * HOUR)
    attempts = [await desk.courier().deliver_due() for _ in range(5)]

    assert attempts == [1, 0, 0, 0, 0]


async def test_43_a_clock_that_is_set_back_only_delays_what_waits() -> None:
    desk = Desk(answers={"ci": DOWN})
    await desk.owes("ci")
    await desk.courier().deliver_due()

    desk.clock.jumps(-2 * HOUR)
    assert await desk.courier().deliver_due() == 0
    desk.answers["ci"] = OK
    desk.clock.later(2 * HOUR + 10)
    await desk.courier().deliver_due()

    assert await desk.statuses() == {"ci": "delivered"}


async def test_30_a_receiver_that_fails_for_a_day_is_asked_no_more_often_than_the_schedule_says() -> None:
    desk = Desk(answers={"ci": DOWN})
    await desk.owes("ci")
    for _ in range(48 * 4):
        await desk.courier().deliver_due()
        desk.clock.later(HOUR / 4)

    assert len(desk.sent) == 10
    assert await desk.statuses() == {"ci": "dead"}
