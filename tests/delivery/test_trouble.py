"""Who is told when an endpoint is in trouble, and when it is over."""

from __future__ import annotations

import json

import pytest

from kova_auto.core.delivery.health import Gate, standing
from kova_auto.core.ids import EndpointName
from kova_auto.core.net.http import FailureKind, HttpFailure, HttpResponse
from tests.delivery.desks import Answer, Desk

GONE = HttpResponse(410)
BAD_CERTIFICATE = HttpFailure(FailureKind.TLS, written=False, detail="the certificate has expired")
HOUR, DAY = 3600, 24 * 3600


async def runs_for(desk: Desk, hours: int) -> None:
    courier = desk.courier()
    for _ in range(hours):
        await courier.deliver_due()
        await courier.deliver_due()
        desk.clock.later(HOUR)


def told(desk: Desk, endpoint: str) -> list[dict[str, object]]:
    """Return what an endpoint was sent of others."""
    sent = zip(desk.sent, desk.requests, strict=True)
    bodies = [json.loads(request.body) for name, request in sent if name == endpoint]
    return [body for body in bodies if body["type"].startswith("kova.endpoint.")]


async def test_the_job_s_other_endpoints_are_told_once_that_one_is_disabled() -> None:
    desk = Desk(answers={"ci": GONE})
    for number in range(5):
        await desk.owes("ci", "team", name=f"nightly@{number}")
    await runs_for(desk, 48)

    (alert,) = told(desk, "team")
    data = alert["data"]
    assert isinstance(data, dict)
    assert (alert["type"], data["endpoint"], data["reason"], data["job"]) == (
        "kova.endpoint.disabled",
        "ci",
        "the receiver answered 410 (Gone)",
        "nightly",
    )
    assert desk.sent.count("ci") == 1


async def test_who_watches_over_all_is_told_of_jobs_that_do_not_know_it() -> None:
    desk = Desk(answers={"ci": GONE}, wardens=("ops",))
    await desk.owes("ci")
    await runs_for(desk, 2)

    assert [alert["type"] for alert in told(desk, "ops")] == ["kova.endpoint.disabled"]


async def test_an_endpoint_hears_nothing_of_itself_nor_of_one_with_its_credential() -> None:
    ci, team = EndpointName("ci"), EndpointName("team")
    desk = Desk(answers={"ci": GONE}, wardens=("ci",), kinship={ci, team})
    await desk.owes("ci", "team", "ops")
    await runs_for(desk, 2)

    assert (len(told(desk, "ci")), len(told(desk, "team")), len(told(desk, "ops"))) == (0, 0, 1)


async def test_many_deliveries_that_are_given_up_in_a_row_are_one_trouble() -> None:
    desk = Desk(answers={"ci": HttpResponse(500)})
    for number in range(2):
        await desk.owes("ci", "team", name=f"nightly@{number}")
    await runs_for(desk, 48)

    assert [row.status for row in await desk.rows() if row.endpoint == "ci"].count("dead") == 2
    types = [alert["type"] for alert in told(desk, "team")]
    assert types == ["kova.endpoint.undelivered", "kova.endpoint.disabled"]


async def test_a_message_that_does_not_fit_is_told_of_though_its_endpoint_is_well() -> None:
    desk = Desk(answers={"ci": HttpResponse(422)})
    await desk.owes("ci", "team")
    await runs_for(desk, 2)

    assert [alert["type"] for alert in told(desk, "team")] == ["kova.endpoint.undelivered"]
    assert [standing(one, desk.clock.now()).gate for one in await desk.healths.every()] == [Gate.OPEN, Gate.OPEN]


async def test_a_certificate_that_is_no_good_is_told_of_at_once_and_once() -> None:
    desk = Desk(answers={"ci": BAD_CERTIFICATE})
    await desk.owes("ci", "team")
    await runs_for(desk, 6)

    assert [alert["type"] for alert in told(desk, "team")] == ["kova.endpoint.untrusted"]


@pytest.mark.parametrize("answer", [GONE, BAD_CERTIFICATE], ids=["gone", "untrusted"])
async def test_whoever_was_told_hears_that_it_is_over(answer: Answer) -> None:
    desk = Desk(answers={"ci": answer})
    await desk.owes("ci", "team")
    await runs_for(desk, 2)
    desk.answers.clear()
    await desk.courier().test(EndpointName("ci"))
    await runs_for(desk, 24)

    assert [alert["type"] for alert in told(desk, "team")][1:] == ["kova.endpoint.recovered"]
    await desk.owes("ci", "team", name="later@1")
    await runs_for(desk, 2)
    assert len(told(desk, "team")) == 2


async def test_two_endpoints_that_are_both_gone_tell_of_each_other_no_end_of_times() -> None:
    desk = Desk(answers={"ci": GONE, "team": GONE}, wardens=("ci", "team"))
    for number in range(5):
        await desk.owes("ci", "team", name=f"nightly@{number}")
    await runs_for(desk, 50)

    alerts = [row for row in await desk.rows() if row.cause == "alert"]
    assert len(alerts) <= 2
    assert len(desk.sent) <= 4


async def test_one_endpoint_that_is_gone_is_no_other_s_misfortune() -> None:
    desk = Desk(answers={"dead": HttpResponse(404)})
    names = ["a", "b", "c", "d", "e"]
    for number in range(3):
        await desk.owes("dead", *names, name=f"nightly@{number}")
    await runs_for(desk, 3)

    assert {name: desk.sent.count(name) for name in names} == dict.fromkeys(names, 4)
    health = {one.endpoint: standing(one, desk.clock.now()).gate for one in await desk.healths.every()}
    assert health == {"dead": Gate.DISABLED, **dict.fromkeys(names, Gate.OPEN)}


async def test_what_is_told_of_trouble_holds_no_secret() -> None:
    down = HttpFailure(FailureKind.TLS, written=False, detail="no such key: hunter2")
    desk = Desk(answers={"ci": down})
    await desk.owes("ci", "team")
    await runs_for(desk, 2)

    assert "hunter2" not in json.dumps(told(desk, "team"))
    assert all("hunter2" not in text for texts in desk.journal._alerts.values() for text in texts)
