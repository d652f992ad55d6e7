"""Thin messages: what is ours alone, whatever others have written."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest

from kova_auto.core.delivery.notice import ApprovalNotice, Notice, RunReport
from kova_auto.core.delivery.payload import render
from kova_auto.core.delivery.target import FormatName
from kova_auto.core.delivery.thin import KEPT
from tests.core.delivery.notices import A_TEST, AT, a_digest, a_late_job, a_report, a_trouble, an_approval, wish_of

THEIRS = "what the model wrote"
FULL_OF_TEXT: list[Notice] = [
    a_report(
        answer=THEIRS,
        reason=THEIRS,
        pauses=THEIRS,
        workspace=f"/srv/{THEIRS}",
        denied=({"tool": THEIRS, "reason": THEIRS},),
        changes=({"path": THEIRS, "what": "created"},),
        inputs={"title": THEIRS},
    ),
    an_approval(
        arguments=THEIRS, reason=THEIRS, overwrites=(THEIRS,), remembers=(THEIRS,), proposes=(THEIRS,), no_offer=THEIRS
    ),
    an_approval(unreached=THEIRS, settled=THEIRS),
    a_late_job(reason=THEIRS),
    a_trouble(reason=THEIRS),
    a_digest(text=THEIRS),
    A_TEST.model_copy(update={"text": THEIRS}),
]
NAMES = ["report", "approval", "unreached", "late", "trouble", "digest", "test"]


def sent(notice: Notice, detail: str = "thin") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        render(FormatName.STANDARD, notice, wish_of(FormatName.STANDARD, detail=detail)).body
    )
    return found


@pytest.mark.parametrize("notice", FULL_OF_TEXT, ids=NAMES)
def test_a_thin_message_holds_no_text_of_others(notice: Notice) -> None:
    assert THEIRS in json.dumps(sent(notice, "full"))
    assert THEIRS not in json.dumps(sent(notice))


@pytest.mark.parametrize("notice", FULL_OF_TEXT, ids=NAMES)
def test_a_thin_message_is_of_the_same_type_and_time(notice: Notice) -> None:
    assert [sent(notice)[key] for key in ("type", "timestamp")] == [
        sent(notice, "full")[key] for key in ("type", "timestamp")
    ]


def test_a_thin_report_says_how_it_went_and_how_to_see_the_rest() -> None:
    report = a_report(denied=({"tool": "write", "reason": THEIRS},), scripted=True, started_at=AT, cost_usd=0.5)

    assert sent(report)["data"] == {
        "run_id": "nightly@20261201T070000Z",
        "job": "nightly",
        "outcome": "done",
        "execution": "finished",
        "scripted": True,
        "note": "scripted: no model was called",
        "model": "acme/large",
        "mode": "agent",
        "level": "read-only",
        "nominal_at": None,
        "started_at": "2026-12-01T07:01:00Z",
        "finished_at": "2026-12-01T07:01:00Z",
        "duration_s": 0.0,
        "attempts": 1,
        "iterations": 0,
        "tool_calls": 0,
        "denied_count": 1,
        "changes_count": 0,
        "tokens_in": 0,
        "tokens_out": 0,
        "cost_usd": 0.5,
        "partial": False,
        "links": [],
        "commands": ["kova-auto runs show nightly@20261201T070000Z"],
        "thin": True,
    }


def test_a_thin_request_says_how_to_answer_it() -> None:
    assert sent(an_approval())["data"]["commands"] == [
        f"kova-auto approvals {word} nightly@20261201T070000Z 2.1" for word in ("allow", "deny")
    ]


def test_every_kind_of_notice_has_its_thin_form() -> None:
    assert set(KEPT) == set(get_args(Notice))
    for kind, names in KEPT.items():
        assert names <= set(kind.model_fields), kind


def test_what_is_kept_is_a_name_a_number_or_an_instant() -> None:
    """A field whose type is a list or a free text of many words is not kept, whoever adds it."""
    lists = {name for kind, names in KEPT.items() for name in names if "tuple" in str(kind.model_fields[name])}
    assert lists == set()
    assert {"answer", "reason", "pauses", "description"} & KEPT[RunReport] == set()
    assert {"arguments", "reason", "unreached", "settled"} & KEPT[ApprovalNotice] == set()
