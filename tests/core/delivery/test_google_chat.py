"""Google Chat: text whose marks are its own, in threads where that is wished."""

from __future__ import annotations

import json

import pytest

from kova_auto.core.delivery.format import Form
from kova_auto.core.delivery.notice import Notice
from kova_auto.core.delivery.outcome import AttemptOutcome
from kova_auto.core.delivery.payload import FORMATS, render
from kova_auto.core.delivery.target import FormatName, Target
from kova_auto.core.net.http import BodyEnd
from tests.core.delivery.answers import NOW, PAGE, judged, verdict
from tests.core.delivery.kind import Payload
from tests.core.delivery.notices import A_TEST, ID, a_late_job, a_report, wish_of

CHAT = FormatName.GOOGLE_CHAT
URL = "https://chat.googleapis.com/v1/spaces/S/messages?key=K&token=T"


def sent(notice: Notice, form: Form = Form.RICH, **options: str) -> Payload:
    return json.loads(render(CHAT, notice, wish_of(CHAT, form, **options)).body)


def test_a_message_says_it_all() -> None:
    text = sent(a_report(answer="All **well**, _so_ ~~no~~.\n\n[a|b>](https://e.org/x_y)\n\n```\n<x>\n```"))["text"]

    assert text.startswith("*✅ nightly: done*\n\n*Model*: acme/large\n")
    assert "All *well*, _so_ ~no~.\n\n<https://e.org/x_y|a¦b›>\n\n```\n<x>\n```" in text  # noqa: RUF001
    assert "`kova-auto runs show nightly@20261201T070000Z`" in text


def test_no_mention_and_no_link_but_ours_survives() -> None:
    text = sent(a_report(answer="<users/all> `<users/1>` <https://evil.org|click> &lt;users/all>"))["text"]

    assert "<users/" not in text
    assert "|click>" not in text.replace("\u200b", "") or "<\u200bhttps" in text


@pytest.mark.parametrize("character", ["a", "日", '"'])
def test_a_long_answer_stays_below_the_bytes_of_a_message(character: str) -> None:
    body = render(CHAT, a_report(answer=f"{character} " * 30_000), wish_of(CHAT)).body

    assert 10_000 < len(body) <= 32_000
    assert "characters left out" in json.loads(body)["text"]


@pytest.mark.parametrize(
    ("notice", "by", "key"),
    [
        (a_report(), "none", None),
        (a_report(), "job", "kova-auto nightly"),
        (a_report(), "run", "kova-auto nightly@20261201T070000Z"),
        (a_late_job(), "run", None),
        (a_late_job(), "job", "kova-auto nightly"),
        (A_TEST, "job", None),
    ],
)
def test_what_belongs_together_shares_a_thread_where_that_is_wished(notice: Notice, by: str, key: str | None) -> None:
    assert sent(notice, thread=by).get("thread") == ({"threadKey": key} if key else None)


def test_an_attempt_says_by_which_id_a_repeat_can_be_told() -> None:
    message = render(CHAT, a_report(), wish_of(CHAT))
    alone, threaded = (
        FORMATS[CHAT].seal(Target("t", CHAT, URL, options={"thread": by}), message, ID, NOW).url
        for by in ("none", "job")
    )

    assert alone == f"{URL}&requestId={ID}"
    assert threaded == f"{alone}&messageReplyOption=REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD"


@pytest.mark.parametrize(
    ("status", "body", "outcome", "permanent"),
    [
        (200, {"name": "spaces/S/messages/M"}, AttemptOutcome.DELIVERED, False),
        (200, {"ok": True}, AttemptOutcome.BAD_ENDPOINT, False),
        (200, b"", AttemptOutcome.BAD_ENDPOINT, False),
        (200, PAGE, AttemptOutcome.BAD_ENDPOINT, False),
        (400, {"error": {"status": "INVALID_ARGUMENT"}}, AttemptOutcome.BAD_PAYLOAD, False),
        (400, {"error": {"details": [{"reason": "API_KEY_INVALID"}]}}, AttemptOutcome.BAD_ENDPOINT, False),
        (403, {"error": {"status": "PERMISSION_DENIED"}}, AttemptOutcome.BAD_ENDPOINT, False),
        (404, {"error": {"status": "NOT_FOUND"}}, AttemptOutcome.BAD_ENDPOINT, True),
        (429, {"error": {"status": "RESOURCE_EXHAUSTED"}}, AttemptOutcome.THROTTLED, False),
        (429, b"", AttemptOutcome.THROTTLED, False),
        (503, {"error": {"status": "UNAVAILABLE"}}, AttemptOutcome.SERVER_ERROR, False),
        (500, [], AttemptOutcome.SERVER_ERROR, False),
    ],
)
def test_an_answer_means_what_google_means_by_it(
    status: int, body: object, outcome: AttemptOutcome, permanent: bool
) -> None:
    assert verdict(CHAT, status, body) == (outcome, permanent)


def test_an_answer_that_was_cut_off_leaves_it_open() -> None:
    assert verdict(CHAT, 200, b'{"na', ending=BodyEnd.BROKEN) == (AttemptOutcome.AMBIGUOUS, False)


@pytest.mark.parametrize(
    ("body", "headers", "wait_s"),
    [
        ({"error": {"details": [{"retryDelay": "30s"}]}}, (), 30),
        ({"error": {"details": [{"retryDelay": "1.5s"}]}}, (("retry-after", "9"),), 1.5),
        (b"", (("retry-after", "9"),), 9),
        ({"error": {"details": [{"retryDelay": "soon"}]}}, (), None),
    ],
)
def test_a_throttled_message_waits_as_long_as_google_says(
    body: object, headers: tuple[tuple[str, str], ...], wait_s: float | None
) -> None:
    assert judged(CHAT, 429, body, headers).retry_after_s == wait_s
