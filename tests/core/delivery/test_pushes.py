"""ntfy and Bark: what a phone is sent, and what it means when they answer."""

from __future__ import annotations

import json

import pytest

from kova_auto.core.delivery.format import Form, Rendered
from kova_auto.core.delivery.formats.bark import size_of_push
from kova_auto.core.delivery.limits import LIMITS, Unit
from kova_auto.core.delivery.notice import Notice
from kova_auto.core.delivery.outcome import AttemptOutcome
from kova_auto.core.delivery.payload import FORMATS
from kova_auto.core.delivery.target import FormatName
from kova_auto.core.errors import ConfigError
from kova_auto.core.job import Outcome
from kova_auto.core.net.http import BodyEnd
from tests.core.delivery.pushes import ID, TEST, approval, judged, lateness, rendered, report, sealed, sent

NTFY, BARK = FormatName.NTFY, FormatName.BARK
PAGERDUTY, HEALTHCHECKS = FormatName.PAGERDUTY, FormatName.HEALTHCHECKS
Is = AttemptOutcome


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
