"""Slack: every message is one that it takes, and what it says of a message is what we say."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from kova_auto.core.delivery.format import Form, form_after
from kova_auto.core.delivery.formats.mrkdwn import size
from kova_auto.core.delivery.notice import Notice
from kova_auto.core.delivery.outcome import AttemptOutcome, Terms, next_state
from kova_auto.core.delivery.payload import render
from kova_auto.core.delivery.target import FormatName
from kova_auto.core.owed import DeliveryStatus
from tests.core.delivery.answers import NOW, judged, verdict
from tests.core.delivery.kind import Payload
from tests.core.delivery.notices import ID, a_report, an_approval, wish_of

SLACK = FormatName.SLACK


def sent(notice: Notice, form: Form = Form.RICH) -> Payload:
    return json.loads(render(SLACK, notice, wish_of(SLACK, form)).body)


def sections(message: Payload) -> list[str]:
    return [one["text"]["text"] for one in message["blocks"] if one["type"] == "section" and "text" in one]


def test_a_throttled_message_is_tried_again_no_sooner_than_slack_asked() -> None:
    result = judged(SLACK, 429, {"ok": False, "error": "rate_limited", "retry_after": 1})
    state = next_state(ID, (), result, Terms(2), now=NOW)

    assert (result.outcome, state.status) == (AttemptOutcome.THROTTLED, DeliveryStatus.WAITING)
    assert state.next_at is not None
    assert state.next_at >= NOW + timedelta(seconds=1)
    assert judged(SLACK, 200, b"ok").outcome is AttemptOutcome.DELIVERED


def test_a_hook_that_starts_a_workflow_answers_with_nothing_and_has_it() -> None:
    assert verdict(SLACK, 200, b"") == (AttemptOutcome.DELIVERED, False)
    assert verdict(SLACK, 200, {"ok": True}) == (AttemptOutcome.DELIVERED, False)


def test_a_server_that_imitates_slack_says_success() -> None:
    assert verdict(SLACK, 200, {"success": True}) == (AttemptOutcome.DELIVERED, False)


@pytest.mark.parametrize("body", [b"ok\n", b" ok \r\n"])
def test_space_round_the_ok_is_nothing(body: bytes) -> None:
    assert verdict(SLACK, 200, body) == (AttemptOutcome.DELIVERED, False)


@pytest.mark.parametrize("body", [b"OK", b"\xef\xbb\xbfok", b"okay", b"accepted"])
def test_what_is_nearly_ok_is_in_doubt_and_not_sent_again(body: bytes) -> None:
    assert verdict(SLACK, 200, body) == (AttemptOutcome.AMBIGUOUS, True)


def test_a_good_status_that_says_no_is_a_failure() -> None:
    assert verdict(SLACK, 200, {"ok": False}) == (AttemptOutcome.BAD_ENDPOINT, False)
    assert verdict(SLACK, 200, {"ok": False, "error": "invalid_blocks"}) == (AttemptOutcome.BAD_PAYLOAD, False)


@pytest.mark.parametrize("code", ["no_service", "no_team", "invalid_token", "channel_is_archived"])
def test_a_hook_that_is_gone_is_gone_for_good(code: str) -> None:
    for status in (400, 403, 404, 410):
        assert verdict(SLACK, status, code.encode()) == (AttemptOutcome.BAD_ENDPOINT, True)


def test_eighty_parts_make_a_message_of_fewer_blocks_and_none_is_dropped_silently() -> None:
    message = sent(a_report(answer="\n\n".join(f"# Part {n}\n\n{'word ' * 20}" for n in range(80))))
    text = "\n".join(sections(message))

    assert len(message["blocks"]) <= 50
    assert "characters left out" in text or all(f"*Part {n}*" in text for n in range(80))


def test_a_long_list_says_how_many_more_there_are() -> None:
    changed = [{"path": f"file-{n}", "what": "created"} for n in range(40)]

    assert any("and 30 more" in field["text"] for field in sent(a_report(changes=changed))["blocks"][1]["fields"])


@pytest.mark.parametrize("tail", ["", "x", "👩\u200d👩\u200d👧", "&", "日"])
@pytest.mark.parametrize("length", [2990, 2999, 3000, 3001])
@pytest.mark.parametrize("fence", ["", "```\n"])
def test_a_section_at_the_limit_never_passes_it(length: int, tail: str, fence: str) -> None:
    message = sent(a_report(answer=f"{fence}{'x' * length}{tail}\n{fence}"))

    assert all(size(text) <= 3000 for text in sections(message))
    assert tail.replace("&", "&amp;") in "".join(sections(message))


def test_four_legal_texts_stay_below_what_slack_takes_in_all() -> None:
    message = sent(a_report(answer="\n\n".join("word " * 660 for _ in range(4))))

    assert sum(map(size, sections(message))) <= 12_000


def test_a_hundred_and_fifty_lines_make_one_message_without_attachments() -> None:
    message = sent(a_report(answer="\n".join(f"- line {n}" for n in range(150))))

    assert "attachments" not in message
    assert "• line 0\n• line 1\n" in "\n".join(sections(message))


def test_what_slack_would_not_take_is_sent_again_short_and_plain() -> None:
    notice = a_report(answer="x" * 20_000)
    first = judged(SLACK, 400, b"invalid_blocks")
    state = next_state(ID, (), first, Terms(2), now=NOW)
    plain = sent(notice, form_after([first.outcome]))

    assert (first.outcome, state.status) == (AttemptOutcome.BAD_PAYLOAD, DeliveryStatus.WAITING)
    assert "blocks" not in plain
    assert size(plain["text"]) < 4000
    assert "kova-auto runs show" in plain["text"]


@pytest.mark.parametrize("notice", [a_report(), a_report(answer=""), an_approval(), an_approval(arguments="")])
def test_a_text_for_the_notification_is_always_there(notice: Notice) -> None:
    assert sent(notice)["text"].startswith(("✅", "⚠️"))


def test_a_very_long_word_is_parted_between_characters() -> None:
    message = sent(a_report(answer="é" * 8000))

    assert "".join(sections(message)).count("é") == 8000
