"""Teams: a card that every client shows, far below the size at which it would fail unseen."""

from __future__ import annotations

import json

import pytest

from kova_auto.core.delivery.format import Form
from kova_auto.core.delivery.notice import Notice
from kova_auto.core.delivery.outcome import AttemptOutcome
from kova_auto.core.delivery.payload import render
from kova_auto.core.delivery.target import FormatName
from kova_auto.core.net.http import BodyEnd
from tests.core.delivery.answers import PAGE, judged, verdict
from tests.core.delivery.kind import Payload, texts_in, under
from tests.core.delivery.notices import a_report, an_approval, wish_of

TEAMS = FormatName.TEAMS


def card(notice: Notice, form: Form = Form.RICH) -> Payload:
    message = json.loads(render(TEAMS, notice, wish_of(TEAMS, form)).body)
    assert message["type"] == "message"
    (attachment,) = message["attachments"]
    assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
    return attachment["content"]


def test_a_card_says_it_all() -> None:
    shown = card(a_report(answer="All **well**, _yes_.\nSee [it](https://e.org/a_b).\n\n```\nx\n  y\n```"))
    title, facts, answer, code, command, foot = shown["body"]

    assert (shown["type"], shown["version"]) == ("AdaptiveCard", "1.4")
    assert (title["text"], title["color"]) == ("✅ nightly: done", "Good")
    assert facts["facts"][0] == {"title": "Model", "value": "acme/large"}
    assert answer["text"] == "All **well**, _yes_.\n\nSee [it](https://e.org/a_b)."
    assert code["items"][0]["inlines"][0]["text"] == "x\n\u00a0\u00a0y"
    assert command["items"][0]["inlines"][0]["text"] == "kova-auto runs show nightly@20261201T070000Z"
    assert foot["text"].endswith("msg\\_abcdefgh")


def test_nobody_is_mentioned_and_no_function_of_the_card_is_called() -> None:
    shown = card(a_report(answer="<at>Bob</at> {{DATE(2026-12-01T07:00:00Z)}}"))

    assert "entities" not in list(shown) + list(shown["msteams"])
    assert not any("{{" in text for text in texts_in(shown))


@pytest.mark.parametrize(
    "answer", ["x " * 40_000, "- a\n" * 5000, "日" * 9000, "```\n" + "l\n" * 5000 + "```", '"\\' * 9000]
)
def test_a_card_is_far_below_what_is_said_to_be_too_much(answer: str) -> None:
    body = render(TEAMS, a_report(answer=answer), wish_of(TEAMS)).body

    assert 4000 < len(body) <= 18_000
    assert b"characters left out" in body
    assert b"kova-auto runs show" in body


def test_a_link_to_answer_is_on_the_card_and_on_the_plain_one() -> None:
    asked = an_approval(answer_url="https://kova.example.org/a/once")

    assert "[Answer](https://kova.example.org/a/once)" in [one["text"] for one in card(asked)["body"] if "text" in one]
    assert any("https://kova.example.org/a/once" in text for text in texts_in(card(asked, Form.PLAIN)))


def test_the_plain_card_is_one_text_without_marks() -> None:
    (only,) = card(a_report(answer="**x** " * 2000), Form.PLAIN)["body"]

    assert only["type"] == "RichTextBlock"
    assert list(under(only, "type")).count("TextRun") == 1


@pytest.mark.parametrize(
    ("status", "body", "outcome", "permanent"),
    [
        (202, b"", AttemptOutcome.DELIVERED, False),
        (200, b"", AttemptOutcome.DELIVERED, False),
        (200, b"1", AttemptOutcome.DELIVERED, False),
        (204, b"", AttemptOutcome.AMBIGUOUS, True),
        (200, b"failed with error: endpoint returned HTTP error 429 with ContextId x", AttemptOutcome.THROTTLED, False),
        (200, b"returned HTTP error 413", AttemptOutcome.BAD_PAYLOAD, False),
        (200, b"returned HTTP error 403", AttemptOutcome.BAD_ENDPOINT, False),
        (200, b"returned HTTP error 502", AttemptOutcome.SERVER_ERROR, False),
        (200, {"error": {"code": "Unknown"}}, AttemptOutcome.BAD_ENDPOINT, False),
        (200, PAGE, AttemptOutcome.BAD_ENDPOINT, False),
        (202, PAGE, AttemptOutcome.BAD_ENDPOINT, False),
        (400, {"error": {"code": "TriggerInputSchemaMismatch"}}, AttemptOutcome.BAD_PAYLOAD, False),
        (400, {"error": {"code": "WorkflowTriggerIsNotEnabled"}}, AttemptOutcome.BAD_ENDPOINT, False),
        (404, {"error": {"code": "WorkflowNotFound"}}, AttemptOutcome.BAD_ENDPOINT, True),
        (401, b"", AttemptOutcome.BAD_ENDPOINT, False),
        (413, b"", AttemptOutcome.BAD_PAYLOAD, False),
        (429, b"", AttemptOutcome.THROTTLED, False),
        (500, b"", AttemptOutcome.SERVER_ERROR, False),
    ],
)
def test_an_answer_means_what_teams_means_by_it(
    status: int, body: object, outcome: AttemptOutcome, permanent: bool
) -> None:
    assert verdict(TEAMS, status, body) == (outcome, permanent)


def test_an_answer_that_was_cut_off_leaves_it_open_unless_the_status_says_it() -> None:
    assert verdict(TEAMS, 200, b"1", ending=BodyEnd.BROKEN)[0] is AttemptOutcome.AMBIGUOUS
    assert verdict(TEAMS, 202, b"", ending=BodyEnd.BROKEN)[0] is AttemptOutcome.DELIVERED


def test_what_a_workflow_makes_of_the_card_is_not_claimed() -> None:
    assert judged(TEAMS, 202).detail == "Teams answered 202: the workflow has it, and says no more"
