"""Mattermost and Rocket.Chat: one text in Markdown, and two ways to say that it was taken."""

from __future__ import annotations

import json

import pytest

from kova_auto.core.delivery.format import Form
from kova_auto.core.delivery.outcome import AttemptOutcome
from kova_auto.core.delivery.payload import render
from kova_auto.core.delivery.target import FormatName
from kova_auto.core.net.http import BodyEnd
from tests.core.delivery.answers import PAGE, verdict
from tests.core.delivery.kind import Payload
from tests.core.delivery.notices import a_report, wish_of

MATTERMOST = FormatName.MATTERMOST


def sent(answer: str, form: Form = Form.RICH, **options: str) -> Payload:
    return json.loads(render(MATTERMOST, a_report(answer=answer), wish_of(MATTERMOST, form, **options)).body)


def test_a_message_says_it_all() -> None:
    text = sent("All **well**.\n\n```\n<x>\n```")["text"]

    assert text.startswith("**✅ nightly: done**\n\n**Model**: acme/large\n")
    assert "\n\nAll **well**.\n\n```\n<x>\n```\n\n`kova-auto runs show nightly@20261201T070000Z`\n\n" in text


def test_no_mention_survives_in_any_of_the_forms_that_the_server_knows() -> None:
    text = sent("@all @channel. x@here <!channel> <!here> <@U1> @bob and <https://evil.org|click>")["text"]

    assert "@\u200ball @\u200bchannel. x@\u200bhere <\u200b!channel> <\u200b!here> <\u200b@\u200bU1> @\u200bbob" in text
    assert "<https://evil.org|" not in text


@pytest.mark.parametrize("length", [4911, 60_000])
def test_a_long_answer_is_whole_where_it_fits_and_else_counted(length: int) -> None:
    text = sent(" ".join(["xyz"] * (length // 4)))["text"]

    assert len(text) <= 16_383
    assert text.count("xyz") >= min(length // 4, 2900)
    assert ("characters left out" in text) == (length > 16_000)


def test_the_plain_message_fits_old_servers() -> None:
    assert len(sent("**x** " * 5000, Form.PLAIN)["text"]) <= 4000


def test_another_channel_is_named_only_where_it_is_wished() -> None:
    assert "channel" not in sent("x")
    assert sent("x", channel="town-square")["channel"] == "town-square"


@pytest.mark.parametrize(
    ("status", "body", "outcome", "permanent"),
    [
        (200, b"ok", AttemptOutcome.DELIVERED, False),
        (200, b"ok\n", AttemptOutcome.DELIVERED, False),
        (200, {"success": True}, AttemptOutcome.DELIVERED, False),
        (200, {"success": False, "error": "invalid-channel"}, AttemptOutcome.BAD_ENDPOINT, False),
        (200, b"OK", AttemptOutcome.AMBIGUOUS, True),
        (200, b"\xef\xbb\xbfok", AttemptOutcome.AMBIGUOUS, True),
        (200, PAGE, AttemptOutcome.BAD_ENDPOINT, False),
        (400, {"id": "web.incoming_webhook.text.app_error"}, AttemptOutcome.BAD_PAYLOAD, False),
        (400, {"id": "web.incoming_webhook.text.length.app_error"}, AttemptOutcome.BAD_PAYLOAD, False),
        (400, {"id": "web.incoming_webhook.invalid.app_error"}, AttemptOutcome.BAD_ENDPOINT, True),
        (403, {"id": "web.incoming_webhook.permissions.app_error"}, AttemptOutcome.BAD_ENDPOINT, True),
        (404, {"id": "web.incoming_webhook.channel.app_error"}, AttemptOutcome.BAD_ENDPOINT, False),
        (501, {"id": "web.incoming_webhook.disabled.app_error"}, AttemptOutcome.BAD_ENDPOINT, True),
        (400, {"success": False, "error": "Invalid integration id"}, AttemptOutcome.BAD_ENDPOINT, False),
        (429, b"", AttemptOutcome.THROTTLED, False),
        (500, b"", AttemptOutcome.SERVER_ERROR, False),
    ],
)  # fmt: skip
def test_an_answer_means_what_the_server_means_by_it(
    status: int, body: object, outcome: AttemptOutcome, permanent: bool
) -> None:
    assert verdict(MATTERMOST, status, body) == (outcome, permanent)


def test_an_answer_that_was_cut_off_leaves_it_open() -> None:
    assert verdict(MATTERMOST, 200, b"o", ending=BodyEnd.BROKEN) == (AttemptOutcome.AMBIGUOUS, False)
