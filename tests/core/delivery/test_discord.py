"""Discord: a message counts once it is shown to us, and a hook that is gone is left alone."""

from __future__ import annotations

import json

import pytest

from kova_auto.core.delivery.format import Form
from kova_auto.core.delivery.limits import LIMITS
from kova_auto.core.delivery.notice import Notice
from kova_auto.core.delivery.outcome import AttemptOutcome, Terms, next_state
from kova_auto.core.delivery.payload import FORMATS, render
from kova_auto.core.delivery.target import FormatName, Target
from kova_auto.core.net.http import BodyEnd
from tests.core.delivery.answers import NOW, PAGE, judged, verdict
from tests.core.delivery.kind import Payload
from tests.core.delivery.notices import ID, a_report, an_approval, wish_of

DISCORD = FormatName.DISCORD
URL = "https://discord.com/api/webhooks/1/TOKEN"


def sent(notice: Notice, form: Form = Form.RICH) -> Payload:
    return json.loads(render(DISCORD, notice, wish_of(DISCORD, form)).body)


def asked(url: str, **options: str) -> str:
    target = Target("team", DISCORD, url, options=options)
    return FORMATS[DISCORD].seal(target, render(DISCORD, a_report(), wish_of(DISCORD)), ID, NOW).url


def test_a_message_says_it_all_and_may_mention_nobody() -> None:
    message = sent(a_report(answer="All **well**, @everyone <@1>.\n\n- `a*b`"))

    assert message["allowed_mentions"] == {"parse": []}
    assert len(message["embeds"]) == 1
    embed = message["embeds"][0]
    assert embed["title"] == "nightly: done"
    assert embed["description"] == "All **well**, @\u200beveryone <\u200b@\u200b1>.\n• `a*b`"
    assert embed["footer"]["text"] == "run nightly@20261201T070000Z · msg_abcdefgh"
    assert embed["fields"][-1] == {
        "name": "Go on",
        "value": "`kova-auto runs show nightly@20261201T070000Z`",
        "inline": False,
    }


@pytest.mark.parametrize("length", [4900, 60_000])
def test_a_long_answer_goes_on_in_more_embeds_in_its_order_and_says_what_is_missing(length: int) -> None:
    words = [f"w{n:07}" for n in range(length // 9)]
    message = sent(a_report(answer=" ".join(words)))
    text = " ".join(one["description"] for one in message["embeds"])
    numbers = [int(word[1:]) for word in text.split() if word[1:].isdigit()]

    assert numbers == sorted(numbers)
    assert (numbers == [*range(len(words))]) == ("characters left out" not in text)
    assert (length > 6000) == ("characters left out" in text)
    assert len(message["embeds"]) == 2


def test_an_endless_field_is_cut_to_what_fits() -> None:
    message = sent(an_approval(reason="x" * 5000, overwrites=["y" * 1025]))

    assert all(len(field["value"]) <= LIMITS["discord"]["field value"].most for field in message["embeds"][0]["fields"])


@pytest.mark.parametrize("answer", ["`" * 3, "```\n```\n```", "**[a](https://e.org) " * 400 + "**", "# `` ` ``\n\\`"])
def test_what_a_terminal_prints_neither_ends_our_code_nor_begins_some(answer: str) -> None:
    for one in sent(a_report(answer=answer))["embeds"]:
        assert one.get("description", "").count("```") % 2 == 0
        assert one.get("description", "").count("**") % 2 == 0


def test_the_plain_message_has_no_embeds_and_is_short() -> None:
    message = sent(a_report(answer="x **y** " * 1000), Form.PLAIN)

    assert set(message) == {"content", "flags", "allowed_mentions"}
    assert len(message["content"]) <= 2000
    assert "kova-auto runs show" in message["content"]


def test_discord_is_asked_to_answer_with_the_message() -> None:
    assert asked(URL) == f"{URL}?wait=true"
    assert asked(f"{URL}?wait=false&thread_id=7") == f"{URL}?thread_id=7&wait=true"
    assert asked(f"{URL}?thread_id=7", thread_id="8") == f"{URL}?wait=true&thread_id=8"


@pytest.mark.parametrize(
    ("status", "body", "outcome", "permanent"),
    [
        (200, {"id": "1234", "type": 0}, AttemptOutcome.DELIVERED, False),
        (204, b"", AttemptOutcome.AMBIGUOUS, True),
        (200, PAGE, AttemptOutcome.BAD_ENDPOINT, False),
        (200, {"ok": True}, AttemptOutcome.BAD_ENDPOINT, False),
        (400, {"message": "Invalid Form Body", "code": 50035}, AttemptOutcome.BAD_PAYLOAD, False),
        (401, {"message": "Invalid Webhook Token", "code": 50027}, AttemptOutcome.BAD_ENDPOINT, True),
        (403, {"message": "Missing Access", "code": 50001}, AttemptOutcome.BAD_ENDPOINT, False),
        (404, {"message": "Unknown Webhook", "code": 10015}, AttemptOutcome.BAD_ENDPOINT, True),
        (404, b"", AttemptOutcome.BAD_ENDPOINT, True),
        (500, b"", AttemptOutcome.SERVER_ERROR, False),
        (502, PAGE, AttemptOutcome.SERVER_ERROR, False),
    ],
)
def test_an_answer_means_what_discord_means_by_it(
    status: int, body: object, outcome: AttemptOutcome, permanent: bool
) -> None:
    assert verdict(DISCORD, status, body) == (outcome, permanent)


def test_an_answer_that_was_cut_off_leaves_it_open() -> None:
    assert verdict(DISCORD, 200, b'{"id', ending=BodyEnd.BROKEN) == (AttemptOutcome.AMBIGUOUS, False)


@pytest.mark.parametrize(
    ("body", "headers", "wait_s"),
    [
        ({"message": "slow", "retry_after": 64.57, "global": False}, (), 64.57),
        ({"retry_after": 0.5}, (("retry-after", "2"),), 2),
        (b"", (("retry-after", "120"),), 120),
        (b"", (("x-ratelimit-reset-after", "1.25"),), 1.25),
        ({"retry_after": "soon"}, (("x-ratelimit-reset-after", "soon"), ("retry-after", "5")), 5),
        ({"message": "You are being blocked from accessing our API", "code": 0}, (), 600),
        (b"error code: 1015", (), 600),
    ],
)
def test_a_throttled_message_waits_as_long_as_any_of_the_places_says(
    body: object, headers: tuple[tuple[str, str], ...], wait_s: float
) -> None:
    result = judged(DISCORD, 429, body, headers)
    state = next_state(ID, (), result, Terms(2), now=NOW)

    assert (result.outcome, result.retry_after_s) == (AttemptOutcome.THROTTLED, wait_s)
    assert state.pause_until is not None
    assert (state.pause_until - NOW).total_seconds() >= wait_s


def test_a_limit_for_all_is_told_from_one_of_the_hook() -> None:
    assert "all that comes from here" in judged(DISCORD, 429, {"retry_after": 1, "global": True}).detail
    assert "all that comes from here" in judged(DISCORD, 429, b"", (("x-ratelimit-global", "true"),)).detail
    assert judged(DISCORD, 429, {"retry_after": 1, "global": False}).detail == "Discord asks to slow down"
