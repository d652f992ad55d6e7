"""Alerts are raised with the rows that they are about, once, and what comes of telling them is kept."""

from __future__ import annotations

import pytest

from kova_auto.core.delivery.alert import AlertRaised, Alerts, Telling, alert, raised
from kova_auto.core.delivery.notice import ScheduleNotice
from kova_auto.core.errors import IllegalEventError, JournalError
from kova_auto.core.event import DeliveryFinished, DeliveryStarted
from kova_auto.core.ids import DeliveryId, JobName, RunId
from kova_auto.core.ledger import Ledger, Occurrence, OccurrenceStatus
from kova_auto.core.ports import Views
from tests.support import at

NIGHTLY = JobName("nightly")


def late(clock: str = "07:00:00", *endpoints: str, what: str = "late") -> AlertRaised:
    """Return what raises an alert."""
    nominal = at(clock)
    fields = {"nominal_at": nominal, "expected_at": at("07:15:00"), "noticed_at": at("07:16:00"), "late_s": 60.0}
    return alert(ScheduleNotice.model_validate({"what": what, "job": "nightly", **fields}), endpoints or ("ci",))


def row(**changes: object) -> Occurrence:
    """Return the row of an instant that nobody has succeeded for."""
    nominal = at("07:00:00")
    fields = {"nominal_at": nominal, "due_at": nominal, "status": OccurrenceStatus.MISSED, "why": "outside_window"}
    known = {"job": NIGHTLY, "schedule": "every-hour", "expect_at": at("07:15:00")}
    return Occurrence.model_validate({**known, **fields, **changes})


@pytest.fixture
async def ledger(ledger: Ledger) -> Ledger:
    """Have one row."""
    await ledger.claim(NIGHTLY, "every-hour", was=None, cursor=at("07:00:00"), rows=[row()])
    return ledger


async def test_an_alert_is_owed_from_the_moment_at_which_its_row_says_so(
    ledger: Ledger, alerts: Alerts, views: Views
) -> None:
    marked = row(late_at=at("07:16:00"))
    assert await ledger.settle([row()], [marked], alerts=[late("07:00:00", "ci", "ops")])

    assert await ledger.occurrences() == [marked]
    assert [one.endpoint for one in reversed(await views.deliveries())] in (["ci", "ops"], ["ops", "ci"])
    assert await alerts.alert(RunId("nightly@20261201T070000Z/late")) == [late("07:00:00", "ci", "ops")]
    due = await views.due_deliveries(at("07:16:00"))
    assert {(one.run_id, one.job, one.cause) for one in due} == {("nightly@20261201T070000Z/late", "nightly", "alert")}


async def test_where_somebody_was_first_nobody_is_told(ledger: Ledger, alerts: Alerts, views: Views) -> None:
    other = row(status=OccurrenceStatus.PENDING)
    assert not await ledger.settle([other], [row(late_at=at("07:16:00"))], alerts=[late()])

    assert (await views.deliveries(), await alerts.alert(late().alert_id)) == ([], [])


async def test_an_alert_that_was_raised_before_is_not_told_again(ledger: Ledger, alerts: Alerts, views: Views) -> None:
    marked = row(late_at=at("07:16:00"))
    await ledger.settle([row()], [marked], alerts=[late()])
    (first,) = await views.deliveries()
    await alerts.tell(late().alert_id, DeliveryStarted(at=at("07:17:00"), delivery_id=first.delivery_id, attempt=1))
    assert await ledger.settle([marked], [marked], alerts=[late("07:00:00", "ci", "ops")])

    (still,) = await views.deliveries()
    assert (still.attempts, len(await alerts.alert(late().alert_id))) == (1, 2)


async def test_what_comes_of_telling_an_alert_is_seen_where_deliveries_are(
    ledger: Ledger, alerts: Alerts, views: Views
) -> None:
    await ledger.settle([row()], [row(late_at=at("07:16:00"))], alerts=[late()])
    key = next(iter(raised(late()).deliveries))
    facts: list[Telling] = [
        DeliveryStarted(at=at("07:17:00"), delivery_id=key, attempt=1),
        DeliveryFinished(at=at("07:17:01"), delivery_id=key, attempt=1, result="delivered", status="delivered"),
    ]
    states = [await alerts.tell(late().alert_id, fact) for fact in facts]

    assert states[-1].deliveries[key].status == "delivered"
    assert await alerts.alert(late().alert_id) == [late(), *facts]
    assert [(one.status, one.attempts) for one in await views.deliveries()] == [("delivered", 1)]
    assert await views.due_deliveries(at("08:00:00")) == []


async def test_a_fact_that_cannot_follow_is_not_kept(ledger: Ledger, alerts: Alerts) -> None:
    await ledger.settle([row()], [row(late_at=at("07:16:00"))], alerts=[late()])
    unknown = DeliveryStarted(at=at("07:17:00"), delivery_id=DeliveryId("msg_x"), attempt=1)
    with pytest.raises(IllegalEventError):
        await alerts.tell(late().alert_id, unknown)
    with pytest.raises(JournalError, match="no alert nowhere"):
        await alerts.tell(RunId("nowhere"), unknown)

    assert await alerts.alert(late().alert_id) == [late()]


async def test_rows_that_are_late_are_overdue_until_a_success_has_come(ledger: Ledger) -> None:
    marked = row(late_at=at("07:16:00"))
    await ledger.settle([row()], [marked])
    assert await ledger.overdue() == await ledger.overdue(NIGHTLY) == [marked]
    assert await ledger.overdue(JobName("weekly")) == await ledger.expected() == []

    await ledger.settle([marked], [marked.model_copy(update={"recovered_at": at("08:00:00")})])
    assert await ledger.overdue() == []
