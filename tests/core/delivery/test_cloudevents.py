"""CloudEvents: the attributes in their place, one event in two modes, and what an answer means."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kova_auto.core.delivery.format import Form, Rendered
from kova_auto.core.delivery.formats.cloudevents import FORMAT
from kova_auto.core.delivery.limits import LIMITS
from kova_auto.core.delivery.notice import Notice
from kova_auto.core.delivery.outcome import AttemptOutcome, classify
from kova_auto.core.delivery.signature import SigningSecret, verify
from kova_auto.core.delivery.target import FormatName, Target
from kova_auto.core.net.http import HttpResponse
from tests.core.delivery.notices import A_TEST, AT, ID, RUN, a_late_job, a_report, an_approval, wish_of

SOURCE = "urn:uuid:6b29fc40-ca47-1067-b31d-00dd010662da"


def rendered(notice: Notice, form: Form = Form.RICH, detail: str = "full") -> Rendered:
    return FORMAT.render(notice, wish_of(FormatName.CLOUDEVENTS, form, source=SOURCE, detail=detail))


def event(notice: Notice, detail: str = "full") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(rendered(notice, detail=detail).body)
    return found


def test_an_event_has_its_attributes_and_the_report_as_data() -> None:
    message = event(a_report())

    assert {key: value for key, value in message.items() if key != "data"} == {
        "specversion": "1.0",
        "id": ID,
        "source": SOURCE,
        "type": "kova.run.completed",
        "subject": f"runs/{RUN}",
        "time": "2026-12-01T07:01:00Z",
        "datacontenttype": "application/json",
    }
    assert message["data"]["answer"] == "All **well**."
    assert rendered(a_report()).content_type == "application/cloudevents+json; charset=utf-8"


@pytest.mark.parametrize(
    ("notice", "subject", "kind"),
    [
        (an_approval(), f"runs/{RUN}", "kova.approval.requested"),
        (a_late_job(), "jobs/nightly", "kova.schedule.late"),
        (A_TEST, "endpoints/ci", "kova.test"),
    ],
)
def test_the_subject_is_what_it_is_about(notice: Notice, subject: str, kind: str) -> None:
    assert (event(notice)["subject"], event(notice)["type"]) == (subject, kind)


def test_a_thin_event_has_no_text() -> None:
    assert "answer" not in event(a_report(), detail="thin")["data"]


def test_a_long_answer_is_cut_within_the_limit_and_says_so() -> None:
    message = rendered(a_report(answer="日本語 " * 30_000))

    assert len(message.body) <= LIMITS["cloudevents"]["body"].most
    data = json.loads(message.body)["data"]
    assert data["truncated"]
    assert data["answer_bytes_sent"] < data["answer_bytes"] == len(("日本語 " * 30_000).encode())


def test_after_a_refusal_the_attributes_travel_in_headers_with_short_data() -> None:
    message = rendered(a_report(job="n"), Form.PLAIN)

    assert dict(message.headers) == {
        "ce-specversion": "1.0",
        "ce-id": ID,
        "ce-source": SOURCE,
        "ce-type": "kova.run.completed",
        "ce-subject": f"runs/{RUN}",
        "ce-time": "2026-12-01T07:01:00Z",
    }
    assert message.content_type == "application/json"
    assert json.loads(message.body)["outcome"] == "done"
    assert "answer" not in json.loads(message.body)


def test_a_header_holds_nothing_that_could_end_it() -> None:
    message = rendered(a_report(run_id='a "b"\r\nc%ü'), Form.PLAIN)

    assert dict(message.headers)["ce-subject"] == "runs/a%20%22b%22%0Ac%25%C3%BC"


def target(**changes: Any) -> Target:  # noqa: ANN401
    return Target("bus", FormatName.CLOUDEVENTS, "https://bus.example.org/in", **changes)


def test_it_is_signed_where_there_is_a_secret_and_let_in_where_there_is_a_token() -> None:
    secret = SigningSecret(bytes(range(32)))
    sealed = FORMAT.seal(target(secrets=(secret,), token="sesame"), rendered(a_report()), ID, AT)
    headers = {name.lower(): value for name, value in sealed.headers}

    assert headers["authorization"] == "Bearer sesame"
    assert verify([secret], headers, sealed.body, now_s=AT.timestamp()) is None


def test_without_either_it_is_sent_as_it_is() -> None:
    sealed = FORMAT.seal(target(), rendered(a_report()), ID, AT)

    assert [name for name, _ in sealed.headers] == ["Content-Type"]


@pytest.mark.parametrize(
    ("status", "outcome", "permanent"),
    [
        (200, AttemptOutcome.DELIVERED, False),
        (202, AttemptOutcome.DELIVERED, False),
        (204, AttemptOutcome.DELIVERED, False),
        (410, AttemptOutcome.BAD_ENDPOINT, True),
        (415, AttemptOutcome.BAD_PAYLOAD, False),
        (301, AttemptOutcome.REDIRECTED, False),
        (429, AttemptOutcome.THROTTLED, False),
        (500, AttemptOutcome.SERVER_ERROR, False),
    ],
)
def test_410_stops_and_415_asks_for_the_other_mode(status: int, outcome: AttemptOutcome, permanent: object) -> None:
    result = classify(HttpResponse(status), FORMAT.judge, now=AT)

    assert (result.outcome, result.permanent) == (outcome, permanent)


def test_a_429_is_heeded_as_the_receiver_says() -> None:
    reply = HttpResponse(429, (("retry-after", "120"),))

    assert classify(reply, FORMAT.judge, now=AT).retry_after_s == 120
