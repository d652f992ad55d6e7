"""When an endpoint is left alone, what becomes of what is owed to it meanwhile, and how it is sent to again."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from kova_auto.core.delivery.health import Gate, standing
from kova_auto.core.delivery.target import FormatName
from kova_auto.core.event import DeliveryFinished, DeliveryRequeued
from kova_auto.core.ids import EndpointName
from kova_auto.core.net.http import FailureKind, HttpFailure, HttpResponse
from tests.delivery.desks import Desk
from tests.doubles.clock import MORNING

DOWN = HttpFailure(FailureKind.CONNECT, written=False, detail="no connection")
GONE = HttpResponse(410)
MISSING = HttpResponse(404)
CI, TEAM = EndpointName("ci"), EndpointName("team")
HOUR, DAY = 3600, 24 * 3600


def throttled(seconds: float) -> HttpResponse:
    return HttpResponse(429, (("retry-after", f"{seconds:g}"),))


async def owes(desk: Desk, endpoint: str, count: int) -> None:
    for number in range(count):
        await desk.owes(endpoint, name=f"nightly@{number:03}")


async def gate_of(desk: Desk, endpoint: EndpointName) -> Gate:
    (health,) = [one for one in await desk.healths.every() if one.endpoint == endpoint]
    return standing(health, desk.clock.now()).gate


async def asks_again(desk: Desk) -> None:
    """Ask for the oldest delivery again, as the control does."""
    row = (await desk.rows())[0]
    asked = DeliveryRequeued(at=desk.clock.now(), delivery_id=row.delivery_id, by="ann")
    await desk.courier().resume(row.endpoint)
    await desk.journal.append(await desk.journal.load(row.run_id), asked)


async def test_a_throttled_endpoint_is_left_alone_and_hides_nothing_else() -> None:
    desk = Desk(answers={"busy": throttled(120)})
    await owes(desk, "busy", 20)
    desk.clock.later(1)
    await desk.owes("ci", name="later@1")

    await desk.courier().deliver_due()
    assert sorted(desk.sent) == ["busy", "ci"]
    desk.answers.clear()
    desk.clock.later(118)
    assert await desk.courier().deliver_due() == 0
    desk.clock.later(2)
    assert await desk.courier().deliver_due() == 20


async def test_a_pause_outlives_the_process_and_says_why() -> None:
    desk = Desk(answers={"ci": throttled(2 * DAY)})
    await owes(desk, "ci", 2)
    await desk.courier().deliver_due()

    (health,) = await desk.healths.every()
    assert health.paused_until == desk.clock.now() + timedelta(hours=24)
    assert health.paused_why == (
        "the receiver answered 429 (Too Many Requests); parked: it asked to wait 172800 s, and 86400 s is the most"
    )
    assert await desk.courier("another").deliver_due() == 0
    assert desk.sent == ["ci"]


async def test_all_that_share_a_credential_are_left_alone_and_nobody_else() -> None:
    desk = Desk(answers={"ci": throttled(HOUR)}, kinship={CI, TEAM})
    await desk.owes("ci")
    await desk.courier().deliver_due()
    await desk.owes("ci", "team", "other", name="nightly@2")
    await desk.courier().deliver_due()

    assert desk.sent == ["ci", "other"]
    shared = [one.paused_why for one in await desk.healths.every() if one.endpoint == TEAM]
    assert shared == ["it shares a credential with ci: the receiver answered 429 (Too Many Requests)"]


async def test_an_endpoint_that_is_gone_keeps_its_other_messages_until_a_test_is_taken() -> None:
    desk = Desk(answers={"ci": GONE})
    await owes(desk, "ci", 2)
    courier = desk.courier()
    assert [await courier.deliver_due(), await courier.deliver_due()] == [1, 0]
    assert [row.status for row in await desk.rows()] == ["dead", "waiting"]

    desk.answers.clear()
    desk.clock.later(100 * DAY)
    assert await courier.deliver_due() == 0
    await courier.test(CI)
    assert await courier.deliver_due() == 1
    assert [row.status for row in await desk.rows()] == ["dead", "delivered"]


async def test_a_test_that_is_not_taken_changes_nothing() -> None:
    desk = Desk(answers={"ci": GONE})
    await owes(desk, "ci", 2)
    await desk.courier().deliver_due()
    before = list(await desk.healths.every())
    await desk.courier().test(CI)

    assert list(await desk.healths.every()) == before


async def test_a_disabled_endpoint_is_probed_by_one_delivery_a_day() -> None:
    desk = Desk(answers={"ci": MISSING})
    await owes(desk, "ci", 4)
    courier = desk.courier()
    for _ in range(4):
        await courier.deliver_due()
        desk.clock.later(700)
    assert await gate_of(desk, CI) is Gate.DISABLED
    sent = len(desk.sent)

    for _ in range(48):
        desk.clock.later(HOUR)
        await courier.deliver_due()
    assert len(desk.sent) == sent + 2
    desk.answers.clear()
    desk.clock.later(DAY)
    assert await courier.deliver_due() == len([row for row in await desk.rows() if row.status == "delivered"])
    assert await gate_of(desk, CI) is Gate.OPEN


async def test_throttling_for_ten_days_makes_no_storm_and_disables_once() -> None:
    desk = Desk(answers={"ci": HttpResponse(429)})
    await owes(desk, "ci", 5)
    for _ in range(10 * 24):
        desk.clock.later(HOUR)
        await desk.courier().deliver_due()

    assert len(desk.sent) <= 5 * 10
    (health,) = await desk.healths.every()
    assert health.disabled_at is not None
    assert "attempts have failed since" in health.disabled_why


async def test_a_dead_delivery_that_a_person_asks_for_is_made_at_once_and_said_to_be_a_repeat() -> None:
    desk = Desk(answers={"ci": GONE})
    await desk.owes("ci")
    await desk.courier().deliver_due()
    desk.answers.clear()
    await asks_again(desk)

    assert await desk.courier().deliver_due() == 1
    assert await desk.statuses() == {"ci": "delivered"}
    first, again = (dict(request.headers) for request in desk.requests)
    assert first["webhook-id"] == again["webhook-id"]
    assert ("webhook-replayed" in first, again["webhook-replayed"]) == (False, "true")


async def test_a_repeat_that_people_read_is_said_to_nobody() -> None:
    desk = Desk(answers={"team": MISSING}, formats={"team": FormatName.SLACK})
    await desk.owes("team")
    await desk.courier().deliver_due()
    await asks_again(desk)
    await desk.courier().deliver_due()

    assert ["webhook-replayed" in dict(request.headers) for request in desk.requests] == [False, False]


async def test_what_a_person_asks_for_is_tried_once_where_the_endpoint_is_still_gone() -> None:
    desk = Desk(answers={"ci": GONE})
    await owes(desk, "ci", 3)
    await desk.courier().deliver_due()
    await asks_again(desk)

    assert await desk.courier().deliver_due() == 1
    assert [row.status for row in await desk.rows()] == ["dead", "waiting", "waiting"]


@pytest.mark.parametrize("answer", [GONE, throttled(HOUR)], ids=["disabled", "paused"])
async def test_a_request_for_approval_does_not_wait_in_silence_behind_a_closed_gate(answer: HttpResponse) -> None:
    desk = Desk(answers={"team": answer})
    await desk.owes("team", name="earlier@1")
    await desk.courier().deliver_due()
    state = await desk.asks("team")
    await desk.courier().deliver_due()

    (row,) = [row for row in await desk.rows() if row.cause == "approval"]
    assert (row.status, row.result, row.attempts) == ("waiting", "put_off", 0)
    assert row.detail.startswith("the endpoint is ")
    after = await desk.journal.load(state.run_id)
    assert [after.unreached(call) is not None for call in after.calls.values()] == [True]
    assert desk.sent == ["team"]


async def test_a_request_for_approval_waits_out_a_short_pause() -> None:
    desk = Desk(answers={"team": throttled(50)})
    await desk.owes("team", name="earlier@1")
    await desk.courier().deliver_due()
    state = await desk.asks("team")
    assert await desk.courier().deliver_due() == 0
    after = await desk.journal.load(state.run_id)
    assert [after.unreached(call) for call in after.calls.values()] == [None]

    desk.answers.clear()
    desk.clock.later(50)
    await desk.courier().deliver_due()
    assert [row.status for row in await desk.rows() if row.cause == "approval"] == ["delivered"]


async def test_what_was_put_off_goes_when_the_endpoint_takes_things_again() -> None:
    desk = Desk(answers={"team": GONE})
    await desk.owes("team", name="earlier@1")
    await desk.courier().deliver_due()
    await desk.asks("team")
    await desk.courier().deliver_due()
    desk.answers.clear()
    await desk.courier().test(TEAM)

    assert await desk.courier().deliver_due() == 1
    assert [row.status for row in await desk.rows()] == ["dead", "delivered"]


async def test_no_connection_at_first_is_tried_again_at_once_and_is_no_reason_to_deny_yet() -> None:
    desk = Desk(answers={"team": DOWN})
    state = await desk.asks("team")
    assert await desk.courier().deliver_due() == 2

    facts = [event for _, event in await desk.journal.events(state.run_id)]
    ends = [event for event in facts if isinstance(event, DeliveryFinished)]
    assert [(end.result, end.next_at == end.at) for end in ends] == [("not_sent", True), ("not_sent", False)]


async def test_what_goes_to_an_endpoint_that_is_not_there_any_more_is_cancelled_and_can_be_asked_for() -> None:
    desk = Desk(unknown={"ci"})
    await desk.owes("ci")
    assert await desk.courier().deliver_due() == 0
    (row,) = await desk.rows()
    said = f"there is no endpoint ci; once it is there: kova-auto deliveries retry {row.delivery_id}"
    assert (row.status, row.detail) == ("cancelled", said)

    desk.unknown.clear()
    await asks_again(desk)
    assert await desk.courier().deliver_due() == 1
    assert await desk.statuses() == {"ci": "delivered"}


async def test_a_request_for_approval_to_an_endpoint_that_is_not_there_reached_nobody() -> None:
    desk = Desk(unknown={"team"})
    state = await desk.asks("team")
    await desk.courier().deliver_due()

    after = await desk.journal.load(state.run_id)
    assert [after.unreached(call) is not None for call in after.calls.values()] == [True]


async def test_an_endpoint_that_was_made_another_while_something_waits_is_sent_it_as_it_is_now() -> None:
    desk = Desk(answers={"ci": HttpResponse(500)})
    await desk.owes("ci")
    await desk.courier().deliver_due()
    desk.answers["ci"] = HttpResponse(200, body=b"ok")
    desk.formats["ci"] = FormatName.SLACK
    desk.clock.later(10)

    assert await desk.courier().deliver_due() == 1
    assert b'"blocks"' in desk.requests[-1].body
    assert "webhook-signature" not in dict(desk.requests[-1].headers)


async def test_what_the_receiver_said_is_on_record_without_secrets_and_within_its_bounds() -> None:
    body = b"key hunter2 " + b"x" * 2031 + b"hunter2 " + b"\xff" * 5000
    desk = Desk(answers={"ci": HttpResponse(500, body=body)})
    state = await desk.owes("ci")
    await desk.courier().deliver_due()

    *_, end = [event for _, event in await desk.journal.events(state.run_id)]
    assert isinstance(end, DeliveryFinished)
    assert end.excerpt.startswith("key … xxx")
    assert ("hunt" not in end.excerpt, len(end.excerpt.encode()) <= 2048) == (True, True)


async def test_that_all_is_well_is_written_down_once_a_minute() -> None:
    desk = Desk()
    courier, written = desk.courier(), list[datetime | None]()
    for _ in range(4):
        await desk.owes("ci", name=f"nightly@{desk.clock.now().isoformat()}")
        await courier.deliver_due()
        (health,) = await desk.healths.every()
        written.append(health.last_success_at)
        desk.clock.later(25)

    assert written == [MORNING, MORNING, MORNING, MORNING + timedelta(seconds=75)]
