"""What a person is shown who follows a link, and how what they send back is read."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova_auto.core.answering.asked import Asked, Choice, Filled, Shown, filled, shown
from kova_auto.core.answering.page import HEADERS, question_page, said_page
from kova_auto.core.approval.levels import Decision
from kova_auto.core.delivery.notice import ApprovalNotice
from tests.support import at

NOTICE = ApprovalNotice(
    run_id="nightly@1",
    job="nightly",
    call_id="1.1",
    tool="write",
    arguments='{"file_path": "/srv/app/a.txt"}',
    reason="it writes outside the workspace",
    requested_at=at("06:00:00"),
)
ARGS = {
    "questions": [
        {"title": "Which branch?", "options": [{"title": "main"}, {"title": "next", "description": "the new one"}]},
        {"title": "Why?"},
    ]
}
QUESTIONS = (Asked("Which branch?", (Choice("main"), Choice("next", "the new one"))), Asked("Why?"))


class Elements(HTMLParser):
    """Collect which elements a page has, with their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def names(self) -> set[str]:
        return {name for name, _ in self.found}


def page(notice: ApprovalNotice = NOTICE, args: dict[str, object] | None = None) -> str:
    return question_page(shown(notice, args or {}, "2026-12-01 18:00 UTC"))  # type: ignore[arg-type]


def test_a_call_is_shown_with_why_it_is_asked_and_two_buttons() -> None:
    text = page()

    assert "nightly: write needs your approval" in text
    assert "it writes outside the workspace" in text
    assert "/srv/app/a.txt" in text
    assert "```" not in text
    buttons = [attributes for name, attributes in Elements(text).found if name == "button"]
    assert [button["value"] for button in buttons] == ["once", "deny"]


def test_a_question_is_shown_with_its_choices() -> None:
    asks = NOTICE.model_copy(update={"asks": True, "tool": "question"})

    made = shown(asks, ARGS, "then")  # type: ignore[arg-type]

    assert made.questions == QUESTIONS
    fields = [attributes.get("name") for name, attributes in Elements(question_page(made)).found if name != "button"]
    assert {"choice-0", "answer-0", "answer-1", "note"} <= {name for name in fields if name}


@given(st.text(max_size=60))
def test_nothing_that_others_wrote_becomes_part_of_the_page(text: str) -> None:
    nasty = f"{text}</pre><script>alert(1)</script><img src=x onerror=y>\u202e"
    made = page(NOTICE.model_copy(update={"arguments": nasty, "reason": nasty, "job": nasty, "tool": nasty}))

    assert Elements(made).names() == Elements(page()).names()
    assert "\u202e" not in made


def test_a_page_fetches_nothing_runs_nothing_and_is_kept_by_nobody() -> None:
    names = Elements(page()).names()

    assert not names & {"script", "img", "link", "iframe", "object", "embed", "base"}
    assert HEADERS["cache-control"] == "no-store"
    assert "default-src 'none'" in HEADERS["content-security-policy"]
    assert "frame-ancestors 'none'" in HEADERS["content-security-policy"]


def test_the_one_style_is_the_one_that_is_allowed() -> None:
    (style,) = re.findall(r"<style>(.*?)</style>", page(), re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()

    assert f"'sha256-{digest}'" in HEADERS["content-security-policy"]


def test_a_page_that_only_says_something_has_no_form() -> None:
    assert "form" not in Elements(said_page("Too late", "<b>over</b>")).names()


@pytest.mark.parametrize(
    ("fields", "questions", "said"),
    [
        ([("decision", "once")], (), Filled(Decision.ONCE)),
        ([("decision", "deny"), ("note", " not today\r\n")], (), Filled(Decision.DENY, "not today")),
        (
            [("choice-0", "main"), ("answer-0", ""), ("answer-1", "Because.\r\nSo."), ("decision", "once")],
            QUESTIONS,
            Filled(Decision.ONCE, answers=("main", "Because.\nSo.")),
        ),
        (
            [("choice-0", "main"), ("choice-0", "next"), ("answer-0", "both"), ("decision", "once")],
            QUESTIONS,
            Filled(Decision.ONCE, answers=("main; next; both", "")),
        ),
        ([("answer-0", "x"), ("decision", "deny")], QUESTIONS, Filled(Decision.DENY)),
    ],
)
def test_a_form_is_read(fields: list[tuple[str, str]], questions: tuple[Asked, ...], said: Filled) -> None:
    assert filled(urlencode(fields).encode(), questions) == said


@pytest.mark.parametrize(
    "body",
    [b"", b"decision=", b"decision=remember", b"decision=all", b"note=x", b"\xff\xfe", b"a=1&" * 50, b"decision=%ff"],
)
def test_what_is_no_answer_is_none(body: bytes) -> None:
    assert filled(body, ()) is None


@given(st.binary(max_size=200))
def test_whatever_is_sent_is_read_without_harm(body: bytes) -> None:
    said = filled(body, QUESTIONS)

    assert said is None or isinstance(said, Filled)


@pytest.mark.parametrize("questions", [None, [], "?", [1], [{"title": 3}], [{"options": "x"}], [None]])
def test_a_question_of_another_shape_is_asked_as_it_stands(questions: object) -> None:
    made = shown(NOTICE.model_copy(update={"asks": True}), {"questions": questions}, "then")  # type: ignore[dict-item]

    assert isinstance(made, Shown)
    assert len(made.questions) == 1
