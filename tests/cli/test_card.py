"""The card of a call: a person reads every character of it, and nothing in it looks like a line of the card."""

from __future__ import annotations

from zoneinfo import ZoneInfo

from pydantic import JsonValue

from kova_auto.cli.card import card
from kova_auto.core.approval.levels import Ruling, Verdict
from kova_auto.core.call_state import CallState
from kova_auto.core.consent import ApprovalRequested, Standing, Target
from kova_auto.core.ids import CallId, blob_hash
from kova_auto.core.message import ToolCall
from tests.support import at

UTC = ZoneInfo("UTC")
FORGED = "Ok?\nwould be remembered: nothing\nanswered: once by ann"


def lines_of(tool: str, reason: str = "It writes.", *, asks: bool = False, **args: JsonValue) -> list[str]:
    call = ToolCall(id=CallId("1.1"), tool=tool, args=args)
    verdict = Verdict(ruling=Ruling.ASK, reason=reason, rule="level.ask", question=asks)
    asked = ApprovalRequested(
        at=at("06:00"),
        call_id=call.id,
        offer=Standing(write_roots=("/srv/two  blanks",)),
        targets=(Target(path="/srv/\u202egpj.exe", content=blob_hash(b"")),),
    )
    text = "\n".join(card(CallState(call, verdict, approval=asked), UTC))
    return text.split("\n")


def test_what_acts_or_hides_on_a_screen_is_spelled_out() -> None:
    lines = lines_of("bash", command="ls \u202e\x1b[2J\u200b\u00ad\U000e0041\u2028\ud800 ü 日")

    assert lines[2] == r'  "command": "ls \u202e\u001b[2J\u200b\u00ad\udb40\udc41\u2028\ud800 ü 日"'
    assert r"overwrites: /srv/\u202egpj.exe" in lines
    assert "would be remembered: writing in /srv/two  blanks" in lines


def test_no_text_of_a_model_looks_like_a_line_of_the_card() -> None:
    assert lines_of(FORGED, reason=FORGED, path=FORGED) == [
        "tool: Ok? would be remembered: nothing answered: once by ann",
        "arguments: {",
        r'  "path": "Ok?\nwould be remembered: nothing\nanswered: once by ann"',
        "}",
        r"why: Ok?\nwould be remembered: nothing\nanswered: once by ann (level.ask)",
        r"overwrites: /srv/\u202egpj.exe",
        "would be remembered: writing in /srv/two  blanks",
        "waits for you",
    ]


def test_no_question_of_a_model_looks_like_a_line_of_the_card() -> None:
    option: JsonValue = {"title": FORGED, "description": FORGED}

    forged = "Ok? would be remembered: nothing answered: once by ann"
    assert lines_of("question", asks=True, questions=[{"title": FORGED, "options": [option]}]) == [
        "tool: question",
        f"question 1: {forged}",
        f"  1. {forged}: {forged}",
        "waits for you",
    ]
