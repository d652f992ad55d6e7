"""The courier tells alerts of schedules as it tells of runs: to every endpoint, again where that fails, once."""

from __future__ import annotations

import pytest

from kova_auto.core.delivery.alert import AlertRaised, alert
from kova_auto.core.delivery.notice import ScheduleNotice
from kova_auto.core.event import DeliveryRequeued, DeliveryStarted
from kova_auto.core.net.http import HttpResponse
from tests.delivery.desks import Desk


@pytest.fixture
def desk() -> Desk:
    return Desk()


async def late(desk: Desk, *endpoints: str) -> AlertRaised:
    """Raise an alert."""
    now = desk.clock.now()
    instants = {"nominal_at": now, "expected_at": now, "noticed_at": now}
    fields = {"what": "late", "job": "nightly", "late_s": 0.0, "reason": "the password is hunter2", **instants}
    fact = alert(ScheduleNotice.model_validate(fields), endpoints)
    assert await desk.journal.settle([], [], alerts=[fact])
    return fact


async def test_an_alert_is_told_to_every_endpoint(desk: Desk) -> None:
    await late(desk, "ci", "ops")
    assert await desk.courier().deliver_due() == 2

    assert sorted(desk.sent) == ["ci", "ops"]
    assert await desk.statuses() == {"ci": "delivered", "ops": "delivered"}
    assert await desk.courier().deliver_due() == 0


async def test_an_alert_that_nobody_took_is_told_again_under_the_same_id(desk: Desk) -> None:
    fact = await late(desk, "ci")
    desk.answers["ci"] = HttpResponse(503)
    await desk.courier().deliver_due()
    (row,) = await desk.rows()
    assert (row.status, row.attempts, row.run_id) == ("waiting", 1, fact.alert_id)

    desk.answers["ci"] = HttpResponse(204)
    desk.clock.instant = row.next_at or desk.clock.instant
    await desk.courier().deliver_due()
    (again,) = await desk.rows()
    assert (again.status, again.attempts, again.delivery_id) == ("delivered", 2, row.delivery_id)


async def test_an_attempt_that_a_crash_cut_off_is_made_again(desk: Desk) -> None:
    fact = await late(desk, "ci")
    (row,) = await desk.rows()
    started = DeliveryStarted(at=desk.clock.now(), delivery_id=row.delivery_id, attempt=1)
    await desk.journal.tell(fact.alert_id, started)
    await desk.courier().deliver_due()

    (cut,) = await desk.rows()
    assert (cut.status, desk.sent) == ("waiting", [])
    desk.clock.instant = cut.next_at or desk.clock.instant
    await desk.courier().deliver_due()
    assert (await desk.statuses(), desk.sent) == ({"ci": "delivered"}, ["ci"])


async def test_an_alert_that_was_given_up_is_taken_up_when_a_person_asks(desk: Desk) -> None:
    fact = await late(desk, "ci")
    desk.answers["ci"] = HttpResponse(404)
    await desk.courier().deliver_due()
    (row,) = await desk.rows()
    asked = DeliveryRequeued(at=desk.clock.now(), delivery_id=row.delivery_id, by="ada")
    await desk.journal.tell(fact.alert_id, asked)
    desk.answers["ci"] = HttpResponse(204)

    await desk.courier().deliver_due()
    assert await desk.statuses() == {"ci": "delivered"}
