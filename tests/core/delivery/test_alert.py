"""An alert is a list of facts: it is raised once, and told to each of its endpoints."""

from __future__ import annotations

import pytest

from kova_auto.core.delivery.alert import (
    AlertFact,
    AlertState,
    Telling,
    alert,
    alert_id,
    alert_rows,
    fold,
    load,
    raised,
    told,
)
from kova_auto.core.delivery.document import describe
from kova_auto.core.delivery.notice import ScheduleNotice
from kova_auto.core.delivery.report import notice_of
from kova_auto.core.errors import IllegalEventError, UnknownEventError
from kova_auto.core.event import DeliveryFinished, DeliveryRequeued, DeliveryStarted
from kova_auto.core.ids import DeliveryId
from tests.support import at


def notice(**changes: object) -> ScheduleNotice:
    """Return that a job is late."""
    fields = {
        "what": "late",
        "job": "nightly",
        "nominal_at": at("07:00:00"),
        "expected_at": at("07:15:00"),
        "noticed_at": at("07:15:02"),
        "late_s": 2.0,
        "became": "missed: outside_window",
        **changes,
    }
    return ScheduleNotice.model_validate(fields)


def an_alert(*endpoints: str, **changes: object) -> AlertState:
    """Return one that was just raised."""
    return raised(alert(notice(**changes), endpoints))


def first_of(state: AlertState) -> DeliveryId:
    return next(iter(state.deliveries))


def started(state: AlertState) -> DeliveryStarted:
    return DeliveryStarted(at=at("07:15:03"), delivery_id=first_of(state), attempt=1)


def delivered(state: AlertState) -> DeliveryFinished:
    return DeliveryFinished(
        at=at("07:15:04"), delivery_id=first_of(state), attempt=1, result="delivered", status="delivered"
    )


def test_each_endpoint_is_owed_an_alert_once_however_often_it_is_named() -> None:
    state = an_alert("ci", "ops", "ci")

    assert [(row.endpoint, row.cause, row.status) for row in alert_rows(state)] == [
        ("ci", "alert", "pending"),
        ("ops", "alert", "pending"),
    ]
    assert {row.run_id for row in alert_rows(state)} == {"nightly@20261201T070000Z/late"}


def test_the_id_says_what_of_which_instant_and_nothing_else() -> None:
    assert alert_id(notice(late_s=3600.0, run_id="other")) == alert_id(notice())
    assert alert_id(notice(what="recovered")) == "nightly@20261201T070000Z/recovered"
    assert alert_id(notice(nominal_at=at("07:30:00"))) != alert_id(notice())


def test_what_is_told_of_an_alert_is_its_notice() -> None:
    state = an_alert("ci")

    assert notice_of(state, state.deliveries[first_of(state)]) == notice()


def test_an_alert_that_was_told_is_owed_no_more() -> None:
    state = an_alert("ci")
    facts: list[AlertFact] = [state.raised, started(state), delivered(state)]

    after = fold(load(fact.model_dump_json()) for fact in facts)
    assert ([row.status for row in alert_rows(after)], after.seq) == (["delivered"], 3)


@pytest.mark.parametrize(
    ("fact", "why"),
    [
        (DeliveryStarted(at=at("07:15:03"), delivery_id=DeliveryId("msg_x"), attempt=1), "nothing is owed as msg_x"),
        (delivered(an_alert("ci")), "attempt 1 is not the one in flight"),
    ],
)
def test_a_fact_that_cannot_follow_is_refused(fact: Telling, why: str) -> None:
    with pytest.raises(IllegalEventError, match=why):
        told(an_alert("ci"), fact)


def test_what_was_delivered_is_not_asked_for_again() -> None:
    state = an_alert("ci")
    done = told(told(state, started(state)), delivered(state))

    with pytest.raises(IllegalEventError, match="it was delivered"):
        told(done, DeliveryRequeued(at=at("08:00:00"), delivery_id=first_of(state), by="ada"))


@pytest.mark.parametrize("facts", [[], [started(an_alert("ci"))], [an_alert("ci").raised] * 2])
def test_an_alert_begins_with_being_raised_and_only_once(facts: list[AlertFact]) -> None:
    with pytest.raises(IllegalEventError, match=r"begins with alert_raised|raised already"):
        fold(facts)


def test_a_row_of_a_newer_program_is_said_to_be_one() -> None:
    with pytest.raises(UnknownEventError, match="upgrade kova-auto"):
        load('{"kind": "alert_sung", "at": "2026-12-01T07:00:00Z"}')


def test_a_late_job_is_described_with_the_command_that_explains_it() -> None:
    document = describe(notice(run_id="nightly@20261201T070000Z"))

    assert document.title == "nightly: late: no success came in time"
    assert dict(document.facts) == {
        "Scheduled for": "2026-12-01 07:00 UTC",
        "Success expected by": "2026-12-01 07:15 UTC",
        "So far": "missed: outside_window",
        "Run": "nightly@20261201T070000Z",
    }
    assert document.commands == (
        "kova-auto explain nightly@2026-12-01T07:00:00Z",
        "kova-auto runs show nightly@20261201T070000Z",
    )


def test_a_recovery_says_how_late_the_success_was_and_for_how_many_instants() -> None:
    came = {"what": "recovered", "noticed_at": at("09:20:00"), "late_s": 7500.0, "count": 3, "became": "done"}
    document = describe(notice(**came))

    assert document.title == "nightly: recovered, late by 2 h 5 min"
    assert document.facts[:3] == (
        ("Scheduled for", "2026-12-01 07:00 UTC, and 2 later instants"),
        ("Success expected by", "2026-12-01 07:15 UTC"),
        ("Success came", "2026-12-01 09:20 UTC"),
    )
