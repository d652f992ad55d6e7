"""Telegram: styles go beside the text, and the bot's token is only in the address of an attempt."""

from __future__ import annotations

import json

import pytest

from kova_auto.core.delivery.format import Form
from kova_auto.core.delivery.needs import NEEDS, problems_of
from kova_auto.core.delivery.notice import Notice
from kova_auto.core.delivery.outcome import AttemptOutcome
from kova_auto.core.delivery.payload import FORMATS, render
from kova_auto.core.delivery.target import FormatName, Target
from kova_auto.core.errors import ConfigError
from kova_auto.core.net.http import BodyEnd
from tests.core.delivery.answers import NOW, PAGE, judged, verdict
from tests.core.delivery.kind import Payload
from tests.core.delivery.notices import ID, a_report, wish_of

TELEGRAM = FormatName.TELEGRAM
TOKEN = "123456:AAF-abc_def"


def sent(notice: Notice, form: Form = Form.RICH, **options: str) -> Payload:
    return json.loads(render(TELEGRAM, notice, wish_of(TELEGRAM, form, **{"chat_id": "-100123", **options})).body)


def styled(message: Payload) -> list[tuple[str, str]]:
    """Return each style with the text that it is about, read as Telegram does."""
    units = message["text"].encode("utf-16-le")
    return [
        (one["type"], units[2 * one["offset"] : 2 * (one["offset"] + one["length"])].decode("utf-16-le"))
        for one in message.get("entities", [])
    ]


def test_a_message_says_it_all_in_one_text_with_its_styles_beside() -> None:
    message = sent(
        a_report(answer="👩\u200d👩\u200d👧 **bold** _it_ `c*d`\n\n> said\n\n[l](https://e.org)\n\n```\nx\n```")
    )

    assert message["chat_id"] == "-100123"
    assert message["link_preview_options"] == {"is_disabled": True}
    assert "parse_mode" not in message
    for style in [
        ("bold", "✅ nightly: done"),
        ("bold", "bold"),
        ("italic", "it"),
        ("code", "c*d"),
        ("blockquote", "said"),
        ("text_link", "l"),
        ("pre", "x"),
        ("code", "kova-auto runs show nightly@20261201T070000Z"),
    ]:
        assert style in styled(message)


def test_characters_that_markup_would_reserve_are_sent_as_they_are() -> None:
    assert "text `a.b-c!(x)` [y] 1 > 2 & <b>" in sent(a_report(answer="text \\`a.b-c!(x)\\` [y] 1 > 2 & <b>"))["text"]


@pytest.mark.parametrize("tail", ["<b>a</b>", "**a**", "👩\u200d👩\u200d👧", "```\na\n```"])
@pytest.mark.parametrize("length", [3000, 4070, 4089, 4096, 40_000])
def test_a_text_at_the_limit_is_cut_without_hurting_its_styles(tail: str, length: int) -> None:
    message = sent(a_report(answer="x" * length + "\n\n" + tail))
    size = len(message["text"].encode("utf-16-le")) // 2

    assert size <= 4096
    for one in message["entities"]:
        assert 0 <= one["offset"] < one["offset"] + one["length"] <= size
    assert "kova-auto runs show" in message["text"]
    assert (length > 3700) == ("characters left out" in message["text"])


def test_where_there_are_too_many_styles_the_most_telling_stay() -> None:
    message = sent(a_report(answer="**b** `c` [l](https://e.org/) " * 80))
    kinds = [one["type"] for one in message["entities"]]

    assert len(kinds) == 100
    assert kinds.count("text_link") == 80
    offsets = [one["offset"] for one in message["entities"]]
    assert offsets == sorted(offsets)


def test_names_are_broken_and_addresses_of_mail_are_not() -> None:
    text = sent(a_report(answer="@bob, a@e.org, `@decorated`"))["text"]

    assert "@\u200bbob, a@e.org, @decorated" in text


def test_the_plain_message_has_no_styles() -> None:
    message = sent(a_report(answer="**x** " * 2000), Form.PLAIN)

    assert set(message) == {"chat_id", "text", "link_preview_options"}
    assert len(message["text"]) < 4096


def test_a_topic_is_a_number() -> None:
    assert sent(a_report(), topic_id="42")["message_thread_id"] == 42


def test_the_token_is_in_the_address_of_the_attempt_and_nowhere_else() -> None:
    message = render(TELEGRAM, a_report(), wish_of(TELEGRAM, chat_id="@kova"))
    sealed = FORMATS[TELEGRAM].seal(Target("t", TELEGRAM, "https://api.telegram.org", token=TOKEN), message, ID, NOW)

    assert sealed.url == f"https://api.telegram.org/bot{TOKEN}/sendMessage"
    assert TOKEN.encode() not in sealed.body
    assert TOKEN not in repr(sealed)


def test_a_bot_without_its_token_is_a_matter_of_the_settings() -> None:
    message = render(TELEGRAM, a_report(), wish_of(TELEGRAM, chat_id="@kova"))

    with pytest.raises(ConfigError, match="wants a token"):
        FORMATS[TELEGRAM].seal(Target("t", TELEGRAM, "https://api.telegram.org"), message, ID, NOW)


@pytest.mark.parametrize(
    ("status", "body", "outcome", "permanent"),
    [
        (200, {"ok": True, "result": {"message_id": 1}}, AttemptOutcome.DELIVERED, False),
        (200, {"ok": False, "error_code": 400}, AttemptOutcome.BAD_ENDPOINT, False),
        (200, PAGE, AttemptOutcome.BAD_ENDPOINT, False),
        (200, b"ok", AttemptOutcome.BAD_ENDPOINT, False),
        (400, {"description": "Bad Request: can't parse entities"}, AttemptOutcome.BAD_PAYLOAD, False),
        (400, {"description": "Bad Request: message is too long"}, AttemptOutcome.BAD_PAYLOAD, False),
        (400, {"description": "Bad Request: chat not found"}, AttemptOutcome.BAD_ENDPOINT, False),
        (400, {"description": "Bad Request: message thread not found"}, AttemptOutcome.BAD_ENDPOINT, False),
        (401, {"description": "Unauthorized"}, AttemptOutcome.BAD_ENDPOINT, True),
        (403, {"description": "Forbidden: bot was kicked"}, AttemptOutcome.BAD_ENDPOINT, True),
        (404, {"description": "Not Found"}, AttemptOutcome.BAD_ENDPOINT, True),
        (500, {"description": "Internal"}, AttemptOutcome.SERVER_ERROR, False),
    ],
)
def test_an_answer_means_what_telegram_means_by_it(
    status: int, body: object, outcome: AttemptOutcome, permanent: bool
) -> None:
    assert verdict(TELEGRAM, status, body) == (outcome, permanent)


def test_an_answer_that_was_cut_off_leaves_it_open() -> None:
    assert verdict(TELEGRAM, 200, b'{"o', ending=BodyEnd.BROKEN) == (AttemptOutcome.AMBIGUOUS, False)


def test_a_throttled_message_waits_as_long_as_telegram_says() -> None:
    result = judged(TELEGRAM, 429, {"ok": False, "parameters": {"retry_after": 31}})

    assert (result.outcome, result.retry_after_s) == (AttemptOutcome.THROTTLED, 31)


def test_a_group_that_has_moved_says_its_new_number_once_and_for_all() -> None:
    result = judged(TELEGRAM, 400, {"ok": False, "parameters": {"migrate_to_chat_id": -1009876543210}})

    assert (result.outcome, result.permanent) == (AttemptOutcome.BAD_ENDPOINT, True)
    assert (
        result.detail == "Telegram answered 400: the group has become a supergroup: set its new chat_id, -1009876543210"
    )


@pytest.mark.parametrize("chat", ["-1001234567890", "42", "@kova_news", -1009])
def test_a_chat_is_a_number_or_the_name_of_a_channel(chat: object) -> None:
    assert list(problems_of(NEEDS[TELEGRAM], {"chat_id": chat})) == []


@pytest.mark.parametrize("given", [{}, {"chat_id": "kova"}, {"chat_id": "@a b"}, {"chat_id": "1", "topic_id": "x"}])
def test_a_chat_that_cannot_be_one_is_a_problem_of_the_settings(given: dict[str, object]) -> None:
    assert len(list(problems_of(NEEDS[TELEGRAM], given))) == 1
