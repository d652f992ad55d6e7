"""ntfy, Bark, PagerDuty and Healthchecks: what each is sent, where, and what it means when it answers."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import pytest

from kova_auto.core.delivery.format import Form, Rendered, Sealed, Wish
from kova_auto.core.delivery.formats.bark import size_of_push
from kova_auto.core.delivery.limits import LIMITS, Unit
from kova_auto.core.delivery.needs import NEEDS, options_of
from kova_auto.core.delivery.notice import ApprovalNotice, EndpointTest, Notice, RunReport, ScheduleNotice
from kova_auto.core.delivery.outcome import AttemptOutcome, AttemptResult, Terms, classify, next_state
from kova_auto.core.delivery.payload import FORMATS, render
from kova_auto.core.delivery.target import FormatName, Target
from kova_auto.core.errors import ConfigError
from kova_auto.core.job import Outcome
from kova_auto.core.net.http import BodyEnd, HttpResponse
from kova_auto.core.owed import DeliveryStatus

NOW = datetime(2026, 12, 1, 7, 0, tzinfo=UTC)
ID = "msg_abcdefghijklmnopqrstuvwxyz"
NTFY, BARK = FormatName.NTFY, FormatName.BARK
PAGERDUTY, HEALTHCHECKS = FormatName.PAGERDUTY, FormatName.HEALTHCHECKS
Is = AttemptOutcome


def report(outcome: Outcome = Outcome.DONE, *, job: str = "nightly", hour: int = 7, answer: str = "Fine.") -> RunReport:
    return RunReport(
        run_id=f"{job}@20261201T{hour:02}0000Z",
        job=job,
        outcome=outcome,
        scripted=True,
        model="scripted",
        level="read-only",
        workspace="/srv/app",
        finished_at=NOW,
        answer=answer,
    )


def approval(call_id: str = "2.1") -> ApprovalNotice:
    return ApprovalNotice(
        run_id="nightly@20261201T070000Z", job="nightly", call_id=call_id, tool="bash", requested_at=NOW
    )


def lateness(what: str = "late") -> ScheduleNotice:
    fields = {"what": what, "job": "nightly", "nominal_at": NOW, "expected_at": NOW, "noticed_at": NOW, "late_s": 60}
    return ScheduleNotice.model_validate(fields)


TEST = EndpointTest(endpoint="team", sent_at=NOW)


def rendered(name: FormatName, notice: Notice, form: Form = Form.RICH, **options: str) -> Rendered:
    return render(name, notice, Wish(ID, form, options_of(NEEDS[name], options)))


def sent(name: FormatName, notice: Notice, form: Form = Form.RICH, **options: str) -> Any:  # noqa: ANN401
    return json.loads(rendered(name, notice, form, **options).body)


def sealed(name: FormatName, message: Rendered, url: str = "", token: str = "") -> Sealed:
    return FORMATS[name].seal(Target("team", name, url or NEEDS[name].url, token=token), message, ID, NOW)


def judged(name: FormatName, status: int, body: object = b"", ending: BodyEnd = BodyEnd.COMPLETE) -> AttemptResult:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return classify(HttpResponse(status, (), raw, ending), FORMATS[name].judge, now=NOW)


# ntfy


def test_ntfy_is_sent_json_to_the_root_with_the_topic_of_the_address() -> None:
    request = sealed(NTFY, rendered(NTFY, report()), "https://push.example.org/s3cr3t-topic")

    assert request.url == "https://push.example.org/"
    assert json.loads(request.body)["topic"] == "s3cr3t-topic"
    assert request.headers == (("Content-Type", "application/json"),)
    assert "s3cr3t" not in repr(request)


@pytest.mark.parametrize(
    ("url", "root", "topic"),
    [
        ("https://ntfy.sh/a/", "https://ntfy.sh/", "a"),
        ("https://example.org/ntfy/a?x=1", "https://example.org/ntfy/", "a"),
        ("https://ntfy.sh/%61%2Db", "https://ntfy.sh/", "a-b"),
    ],
)
def test_a_topic_is_what_the_path_ends_with(url: str, root: str, topic: str) -> None:
    request = sealed(NTFY, Rendered(b"{}"), url)

    assert (request.url, json.loads(request.body)) == (root, {"topic": topic})


@pytest.mark.parametrize("url", ["https://ntfy.sh", "https://ntfy.sh/"])
def test_an_address_without_a_topic_is_no_address_for_ntfy(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        sealed(NTFY, Rendered(b"{}"), url)

    assert (caught.value.key, "topic" in caught.value.message) == ("endpoints.team.url", True)


def test_a_token_of_ntfy_travels_in_a_header() -> None:
    request = sealed(NTFY, Rendered(b"{}"), "https://ntfy.sh/a", "tk_s3cr3t")

    assert ("Authorization", "Bearer tk_s3cr3t") in request.headers
    assert "s3cr3t" not in repr(request)


@pytest.mark.parametrize(
    ("notice", "priority", "tag"),
    [
        (report(), 3, "white_check_mark"),
        (report(Outcome.FAILED), 4, "x"),
        (report(Outcome.CANCELLED), 2, "information_source"),
        (approval(), 4, "warning"),
        (lateness(), 4, "x"),
        (TEST, 2, "information_source"),
    ],
)
def test_how_urgent_a_push_of_ntfy_is_follows_from_what_it_tells(notice: Notice, priority: int, tag: str) -> None:
    message = sent(NTFY, notice)

    assert (message["priority"], message["tags"]) == (priority, [tag])


@pytest.mark.parametrize("answer", ["日" * 60_000, "👩\u200d👩\u200d👧" * 5000, "a*b_" * 20_000, '"\\' * 20_000])
@pytest.mark.parametrize("form", Form)
def test_a_message_of_ntfy_never_becomes_a_file(answer: str, form: Form) -> None:
    message = sent(NTFY, report(answer=answer), form)

    assert Unit.BYTES.size(message["message"]) <= LIMITS["ntfy"]["message"].most
    assert "characters left out" in message["message"]
    assert "kova-auto runs show nightly@20261201T070000Z" in message["message"]
    assert message["markdown"] is (form is Form.RICH)


@pytest.mark.parametrize(
    ("status", "body", "outcome", "wait_s"),
    [
        (200, {"id": "xE73Iyuabi", "event": "message"}, Is.DELIVERED, None),
        (200, {"health": True}, Is.BAD_ENDPOINT, None),
        (200, b"<html>log in", Is.BAD_ENDPOINT, None),
        (200, b"", Is.BAD_ENDPOINT, None),
        (202, b"", Is.BAD_ENDPOINT, None),
        (429, {"code": 42901, "http": 429}, Is.THROTTLED, None),
        (429, {"code": 42908, "http": 429}, Is.THROTTLED, 3600),
        (429, {"code": 42905, "http": 429}, Is.THROTTLED, 3600),
        (507, {"code": 50701, "http": 507}, Is.THROTTLED, 600),
        (413, {"code": 41303, "http": 413}, Is.BAD_PAYLOAD, None),
        (400, {"code": 40009, "http": 400}, Is.BAD_ENDPOINT, None),
        (400, {"code": 40024, "http": 400}, Is.BAD_PAYLOAD, None),
        (401, {"code": 40101, "http": 401}, Is.BAD_ENDPOINT, None),
        (403, {"code": 40301, "http": 403}, Is.BAD_ENDPOINT, None),
        (500, b"", Is.SERVER_ERROR, None),
    ],
)
def test_ntfy_is_judged_by_id_and_code(
    status: int, body: object, outcome: AttemptOutcome, wait_s: float | None
) -> None:
    result = judged(NTFY, status, body)

    assert (result.outcome, result.retry_after_s) == (outcome, wait_s)


# Bark


def test_bark_is_sent_json_with_the_device_key_and_the_id_of_the_delivery() -> None:
    request = sealed(BARK, rendered(BARK, report(Outcome.FAILED), sound="bell"), token="s3cr3t-device")

    body = json.loads(request.body)
    assert request.url == "https://api.day.app/push"
    assert {key: body[key] for key in body if key != "body"} == {
        "device_key": "s3cr3t-device",
        "title": "❌ nightly: failed",
        "level": "timeSensitive",
        "group": "kova-auto",
        "id": ID,
        "sound": "bell",
    }
    assert "s3cr3t" not in repr(request)


@pytest.mark.parametrize(
    "url", ["https://bark.example.org", "https://bark.example.org/", "https://bark.example.org/push"]
)
def test_a_server_of_ones_own_is_asked_to_push(url: str) -> None:
    assert sealed(BARK, Rendered(b"{}"), url, "key").url == "https://bark.example.org/push"


@pytest.mark.parametrize(("name", "meaning"), [(BARK, "device key"), (PAGERDUTY, "integration key")])
def test_who_wants_a_token_is_not_sent_anything_without(name: FormatName, meaning: str) -> None:
    with pytest.raises(ConfigError, match=meaning) as caught:
        sealed(name, Rendered(b"{}"))

    assert caught.value.key == "endpoints.team.token"


@pytest.mark.parametrize(
    "answer", ["日" * 60_000, "<&>" * 20_000, "\u2028" * 9000, '"\\' * 20_000, "👩\u200d👩\u200d👧" * 5000]
)
@pytest.mark.parametrize("form", Form)
def test_a_push_is_what_apple_takes_in_the_spelling_of_barks_server(answer: str, form: Form) -> None:
    message = sent(BARK, report(answer=answer), form)

    escaped = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    for one in "<>&\u2028\u2029":
        escaped = escaped.replace(one, "\\u0000")
    assert size_of_push(message) == len(escaped.encode())
    assert size_of_push(message) <= LIMITS["bark"]["body"].most - 400
    assert "kova-auto runs show nightly@20261201T070000Z" in message["body"]


@pytest.mark.parametrize(
    ("status", "body", "outcome", "permanent"),
    [
        (200, {"code": 200, "message": "success", "timestamp": 1}, Is.DELIVERED, False),
        (200, {"code": 400, "message": "x"}, Is.BAD_PAYLOAD, False),
        (200, {"code": 500, "message": "x"}, Is.SERVER_ERROR, False),
        (200, b"", Is.BAD_ENDPOINT, False),
        (200, b"ok", Is.BAD_ENDPOINT, False),
        (204, b"", Is.BAD_ENDPOINT, False),
        (200, {"code": True}, Is.BAD_ENDPOINT, False),
        (400, {"code": 400, "message": "failed to get device token: no such key"}, Is.BAD_ENDPOINT, True),
        (400, {"code": 400, "message": "device key is empty"}, Is.BAD_ENDPOINT, True),
        (400, {"code": 400, "message": "request bind failed: x"}, Is.BAD_PAYLOAD, False),
        (500, {"code": 500, "message": "push failed: APNS push failed: BadDeviceToken"}, Is.BAD_ENDPOINT, True),
        (500, {"code": 500, "message": "push failed: APNS push failed: PayloadTooLarge"}, Is.BAD_PAYLOAD, False),
        (500, {"code": 500, "message": "push failed: APNS push failed: TooManyRequests"}, Is.THROTTLED, False),
        (500, {"code": 500, "message": "push failed: timeout"}, Is.SERVER_ERROR, False),
    ],
)
def test_bark_is_judged_by_its_body(status: int, body: object, outcome: AttemptOutcome, permanent: object) -> None:
    result = judged(BARK, status, body)

    assert (result.outcome, result.permanent) == (outcome, permanent)


# PagerDuty


def event(notice: Notice, **options: str) -> tuple[str, str]:
    body = sent(PAGERDUTY, notice, **options)
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


# Healthchecks

PING = "https://hc-ping.com/5bf66975-d4c7-4bf5-bcc8-b8d8a82ea278"


@pytest.mark.parametrize(
    ("notice", "path"),
    [
        (report(), ""),
        (report(Outcome.NOTHING_TO_REPORT), ""),
        (lateness("recovered"), ""),
        *[
            (report(outcome), "/fail")
            for outcome in (
                Outcome.FAILED, Outcome.CONTRACT_FAILED, Outcome.TIMED_OUT, Outcome.BUDGET_EXCEEDED, Outcome.INTERRUPTED
            )
        ],
        (lateness(), "/fail"),
        (report(Outcome.NEEDS_INPUT), "/log"),
        (report(Outcome.BLOCKED), "/log"),
        (report(Outcome.CANCELLED), "/log"),
        (approval(), "/log"),
        (TEST, "/log"),
    ],
)  # fmt: skip
def test_a_ping_says_in_its_address_what_came_of_it(notice: Notice, path: str) -> None:
    request = sealed(HEALTHCHECKS, rendered(HEALTHCHECKS, notice), PING)

    assert urlsplit(request.url)._replace(query="").geturl() == PING + path
    assert request.headers == (("Content-Type", "text/plain; charset=utf-8"),)
    assert "hc-ping" not in repr(request)


def test_pings_of_one_run_are_paired_and_those_of_another_are_not() -> None:
    def query(notice: Notice) -> str:
        return urlsplit(sealed(HEALTHCHECKS, rendered(HEALTHCHECKS, notice), f"{PING}?create=1").url).query

    first, again, other = query(report()), query(report(Outcome.FAILED)), query(report(hour=8))
    create, _, pair = first.partition("&")
    assert (create, first) == ("create=1", again)
    assert first != other
    assert UUID(pair.removeprefix("rid="))
    assert query(TEST) == "create=1"


@pytest.mark.parametrize("form", Form)
def test_the_body_of_a_ping_is_the_message_as_text(form: Form) -> None:
    long = rendered(HEALTHCHECKS, report(answer="日" * 60_000), form).body

    assert len(long) <= LIMITS["healthchecks"]["body"].most
    assert "characters left out" in long.decode()
    assert rendered(HEALTHCHECKS, report(), form).body.decode().startswith("✅ nightly: done\n\nModel: scripted")


@pytest.mark.parametrize(
    ("status", "body", "outcome", "permanent"),
    [
        (200, b"OK", Is.DELIVERED, False),
        (200, b"OK\n", Is.DELIVERED, False),
        (201, b"Created", Is.DELIVERED, False),
        (200, b"OK (not found)", Is.BAD_ENDPOINT, True),
        (200, b"OK (rate limited)", Is.THROTTLED, False),
        (200, b"OKAY", Is.BAD_ENDPOINT, False),
        (200, b"", Is.BAD_ENDPOINT, False),
        (200, b"<html>not found", Is.BAD_ENDPOINT, False),
        (204, b"", Is.BAD_ENDPOINT, False),
        (404, b"not found", Is.BAD_ENDPOINT, True),
        (409, b"ambiguous slug", Is.BAD_ENDPOINT, True),
        (400, b"invalid url format", Is.BAD_ENDPOINT, True),
        (413, b"", Is.BAD_PAYLOAD, False),
        (429, b"rate limited", Is.THROTTLED, False),
        (502, b"<title>page not found", Is.SERVER_ERROR, False),
    ],
)
def test_healthchecks_is_judged_by_what_it_says(
    status: int, body: bytes, outcome: AttemptOutcome, permanent: object
) -> None:
    result = judged(HEALTHCHECKS, status, body)

    assert (result.outcome, result.permanent) == (outcome, permanent)


@pytest.mark.parametrize("name", [NTFY, BARK, HEALTHCHECKS])
def test_an_answer_that_breaks_off_leaves_it_open(name: FormatName) -> None:
    assert judged(name, 200, b"", ending=BodyEnd.BROKEN).outcome is Is.AMBIGUOUS


def test_a_repeat_does_no_harm_only_where_it_is_told_apart() -> None:
    assert {name: FORMATS[name].tries_in_doubt for name in (NTFY, BARK, PAGERDUTY, HEALTHCHECKS)} == {
        NTFY: 2,
        BARK: 2,
        PAGERDUTY: None,
        HEALTHCHECKS: None,
    }
