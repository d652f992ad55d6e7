"""PagerDuty: what opens an incident, what closes it, and what it answers."""

from __future__ import annotations

import json

import pytest

from kova_auto.core.delivery.format import Form
from kova_auto.core.delivery.limits import LIMITS, Unit
from kova_auto.core.delivery.notice import Notice
from kova_auto.core.delivery.outcome import AttemptOutcome, Terms, next_state
from kova_auto.core.delivery.target import FormatName
from kova_auto.core.job import Outcome
from kova_auto.core.owed import DeliveryStatus
from tests.core.delivery.pushes import ID, NOW, approval, judged, lateness, rendered, report, sealed, sent

PAGERDUTY = FormatName.PAGERDUTY
Is = AttemptOutcome


def event(notice: Notice, **options: str) -> tuple[str, str]:
    body = sent(PAGERDUTY, notice, Form.RICH, **options)
    return body["event_action"], body["dedup_key"]


def test_the_next_success_of_a_job_resolves_what_its_failure_triggered() -> None:
    for good in (Outcome.DONE, Outcome.NOTHING_TO_REPORT):
        failed, came_good = event(report(Outcome.FAILED, hour=7)), event(report(good, hour=8))

        assert (failed[0], came_good[0]) == ("trigger", "resolve")
        assert failed[1] == came_good[1] == "kova-auto/nightly"
    assert event(report(Outcome.FAILED, job="other"))[1] != "kova-auto/nightly"


def test_a_late_job_triggers_and_its_recovery_resolves() -> None:
    assert event(lateness("late")) == ("trigger", "kova-auto/nightly")
    assert event(lateness("recovered")) == ("resolve", "kova-auto/nightly")


def test_each_call_that_waits_is_an_incident_of_its_own() -> None:
    assert event(approval("2.1")) == ("trigger", "kova-auto/nightly@20261201T070000Z/2.1")
    assert event(approval("2.2"))[1] != event(approval("2.1"))[1]


def test_two_machines_with_a_job_of_one_name_are_told_apart_by_their_source() -> None:
    assert event(report(), source="db1")[1] == "db1/nightly"
    assert sent(PAGERDUTY, report(), source="db1")["payload"]["source"] == "db1"


@pytest.mark.parametrize(
    ("notice", "severity"),
    [
        (report(Outcome.FAILED), "critical"),
        (report(Outcome.NEEDS_INPUT), "warning"),
        (report(Outcome.CANCELLED), "info"),
        (report(), "info"),
        (approval(), "warning"),
    ],
)
def test_how_severe_an_event_is_follows_from_what_it_tells(notice: Notice, severity: str) -> None:
    assert sent(PAGERDUTY, notice, severity="critical")["payload"]["severity"] == severity


@pytest.mark.parametrize("job", ["n" * 300, "日" * 300, "👩\u200d👩\u200d👧" * 100])
@pytest.mark.parametrize("form", Form)
def test_an_event_stays_within_every_limit(job: str, form: Form) -> None:
    message = rendered(PAGERDUTY, report(Outcome.FAILED, job=job, answer="日" * 200_000), form)
    body, limits = json.loads(message.body), LIMITS["pagerduty"]

    assert len(message.body) <= limits["body"].most
    assert 0 < Unit.CHARACTERS.size(body["dedup_key"]) <= limits["dedup_key"].most
    assert 0 < Unit.CHARACTERS.size(body["payload"]["summary"]) <= limits["summary"].most
    assert body["dedup_key"] != sent(PAGERDUTY, report(job=f"{job}x"))["dedup_key"]
    assert ("custom_details" in body["payload"]) == (form is Form.RICH)


def test_an_event_has_the_details_and_the_key_that_lets_it_in() -> None:
    request = sealed(PAGERDUTY, rendered(PAGERDUTY, report(Outcome.FAILED)), token="s3cr3t-key")
    body = json.loads(request.body)

    assert (request.url, body["routing_key"]) == ("https://events.pagerduty.com/v2/enqueue", "s3cr3t-key")
    assert body["payload"]["custom_details"]["Said"] == "Fine."
    assert body["payload"]["custom_details"]["Commands"] == ["kova-auto runs show nightly@20261201T070000Z"]
    assert body["payload"]["timestamp"] == "2026-12-01T07:00:00+00:00"
    assert "s3cr3t" not in repr(request)


@pytest.mark.parametrize(
    ("status", "body", "outcome", "permanent", "wait_s"),
    [
        (202, {"status": "success", "dedup_key": "a"}, Is.DELIVERED, False, None),
        (200, {"status": "success"}, Is.BAD_ENDPOINT, False, None),
        (204, b"", Is.BAD_ENDPOINT, False, None),
        (400, {"errors": ["'payload.summary' is missing or blank"]}, Is.BAD_PAYLOAD, False, None),
        (400, {"errors": ["Length of 'routing_key' is incorrect"]}, Is.BAD_ENDPOINT, True, None),
        (413, b"", Is.BAD_PAYLOAD, False, None),
        (403, b"", Is.THROTTLED, False, 120),
        (429, b"", Is.THROTTLED, False, 120),
        (500, b"", Is.SERVER_ERROR, False, None),
    ],
)
def test_pagerduty_is_judged_by_its_202(
    status: int, body: object, outcome: AttemptOutcome, permanent: object, wait_s: float | None
) -> None:
    result = judged(PAGERDUTY, status, body)

    assert (result.outcome, result.permanent, result.retry_after_s) == (outcome, permanent, wait_s)


def test_an_event_that_was_refused_is_tried_once_more_without_details_and_never_again() -> None:
    refused = judged(PAGERDUTY, 400, {"errors": ["x"]})

    first = next_state(ID, [], refused, Terms(None), now=NOW)
    second = next_state(ID, [Is.BAD_PAYLOAD], refused, Terms(None), now=NOW)

    assert (first.status, second.status) == (DeliveryStatus.WAITING, DeliveryStatus.DEAD)
