"""What becomes of much that is owed at once: paced, told together, and never before what somebody waits for."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise

from kova_auto.core.delivery.target import FormatName
from kova_auto.core.ids import EndpointName
from kova_auto.core.net.http import HttpResponse
from kova_auto.delivery.courier import MOST_AT_ONCE, Courier
from tests.delivery.desks import Desk

TAKEN = HttpResponse(200, body=b"ok")
SLACK = FormatName.SLACK


def chat(**changes: object) -> Desk:
    """Return a desk whose endpoint `team` is a chat that people read."""
    answers = {"team": TAKEN, "other": TAKEN, "shared": TAKEN}
    return Desk(answers=dict(answers), formats={"team": SLACK, "other": SLACK}, **changes)  # type: ignore[arg-type]


async def owes(desk: Desk, count: int, endpoint: str = "team") -> None:
    for number in range(count):
        await desk.owes(endpoint, name=f"nightly@{endpoint}-{number:03}")


async def seconds(courier: Courier, desk: Desk, count: int) -> list[int]:
    """Let time go by in tenths of a second; return how much had been sent after each second."""
    sent: list[int] = []
    for _ in range(count):
        for _ in range(10):
            await courier.deliver_due()
            desk.clock.later(0.1)
        sent.append(len(desk.sent))
    return sent


async def test_many_results_at_once_are_told_in_few_messages_and_none_is_lost() -> None:
    desk = chat()
    await owes(desk, 30)
    await seconds(desk.courier(), desk, 5)

    rows = await desk.rows()
    assert Counter(row.status for row in rows) == {"delivered": 30}
    assert len(desk.sent) == 5
    digest = desk.requests[-1].body.decode()
    assert "26 more results: 26 done" in digest
    assert "and 6 more" in digest
    together = [row for row in rows if row.result == "told_together"]
    assert (len(together), {row.attempts for row in together}) == (25, {0})
    assert all(row.detail.startswith("told together with 25 others in msg_") for row in together)


async def test_a_few_results_more_than_fit_are_told_one_by_one() -> None:
    desk = chat()
    await owes(desk, MOST_AT_ONCE)
    await seconds(desk.courier(), desk, 15)

    assert len(desk.sent) == MOST_AT_ONCE
    assert {row.result for row in await desk.rows()} == {"delivered"}


async def test_results_wait_longer_and_shorter_so_that_many_do_not_come_in_step() -> None:
    desk = chat()
    await owes(desk, MOST_AT_ONCE)
    courier, times = desk.courier(), list[float]()
    for _ in range(900):
        before = len(desk.sent)
        await courier.deliver_due()
        times += [desk.clock.steady_s()] * (len(desk.sent) - before)
        desk.clock.later(0.01)

    gaps = [round(after - before, 2) for before, after in pairwise(times)][4:]
    assert len(set(gaps)) == len(gaps)
    assert all(0.55 <= gap <= 1.45 for gap in gaps)


async def test_a_digest_that_is_not_taken_is_tried_again_and_nothing_is_lost() -> None:
    desk = chat()
    courier = desk.courier()
    await owes(desk, 20)
    await courier.deliver_due()
    desk.answers["team"] = HttpResponse(500)
    await seconds(courier, desk, 4)
    desk.answers["team"] = TAKEN
    await seconds(courier, desk, 60)

    assert Counter(row.status for row in await desk.rows()) == {"delivered": 20}


async def test_who_dies_between_a_digest_and_its_record_tells_it_twice_rather_than_never() -> None:
    desk = chat()
    await owes(desk, 20)
    courier = desk.courier()
    await courier.deliver_due()
    desk.clock.later(2)
    before = len(desk.sent)
    desk.journal.unheard["delivery_finished"] = 1
    await courier.deliver_due()
    assert len(desk.sent) == before + 1
    desk.clock.later(200)
    await seconds(desk.courier(), desk, 20)

    assert Counter(row.status for row in await desk.rows()) == {"delivered": 20}


async def test_a_request_for_approval_goes_before_all_results_and_though_theirs_are_spent() -> None:
    desk = chat()
    courier = desk.courier()
    await owes(desk, 12)
    await courier.deliver_due()
    sent = len(desk.sent)
    await desk.asks("team")
    assert await courier.deliver_due() == 1

    assert len(desk.sent) == sent + 1
    assert "needs your approval" in desk.requests[-1].body.decode()
    assert [row.status for row in await desk.rows() if row.cause == "approval"] == ["delivered"]


async def test_a_request_for_approval_goes_before_results_that_are_older() -> None:
    desk = Desk()
    await owes(desk, 50, "ci")
    desk.clock.later(1)
    await desk.asks("ci")
    await desk.courier().deliver_due()

    first = json.loads(desk.requests[0].body)
    assert (first["type"], len(desk.sent)) == ("kova.approval.requested", 51)


async def test_endpoints_that_share_a_credential_share_its_pace() -> None:
    desk = chat(shared={"team", "other"})
    for number in range(4):
        await desk.owes("team", "other", name=f"nightly@{number}")
    await desk.courier().deliver_due()

    assert len(desk.sent) == 4


async def test_a_program_is_told_everything_at_once_and_one_by_one() -> None:
    desk = Desk()
    await owes(desk, 100, "ci")
    assert await desk.courier().deliver_due() == 100

    ids = {dict(request.headers)["webhook-id"] for request in desk.requests}
    assert (len(ids), Counter(row.status for row in await desk.rows())) == (100, {"delivered": 100})


async def test_one_crowded_endpoint_delays_no_other() -> None:
    desk = chat()
    await owes(desk, 40)
    for number in range(9):
        await desk.owes("ci", name=f"weekly@{number}")
    await desk.courier().deliver_due()

    assert desk.sent.count("ci") == 9
    assert EndpointName("team") in desk.sent
