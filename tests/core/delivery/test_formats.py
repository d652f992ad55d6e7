"""What is sent: every field that was promised, inside every limit, whatever a run has said."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from kova_auto.core.delivery.format import Form, Wish, form_after
from kova_auto.core.delivery.formats import standard
from kova_auto.core.delivery.formats.mrkdwn import size
from kova_auto.core.delivery.limits import LIMITS
from kova_auto.core.delivery.needs import NEEDS, options_of
from kova_auto.core.delivery.notice import (
    NOTICE,
    ApprovalNotice,
    Change,
    Denial,
    EndpointTest,
    Notice,
    RunReport,
)
from kova_auto.core.delivery.outcome import AttemptOutcome
from kova_auto.core.delivery.payload import FORMATS, render
from kova_auto.core.delivery.target import FormatName
from kova_auto.core.job import Outcome

MOST = {key: limit.most for key, limit in LIMITS["slack"].items()}
AT = datetime(2026, 12, 1, 7, 1, tzinfo=UTC)
ID = "msg_abcdefghijklmnopqrstuvwxyz"


def report(**changes: object) -> RunReport:
    """Return the report of a small scripted run."""
    fields: dict[str, object] = {
        "run_id": "nightly@20261201T070000Z",
        "job": "nightly",
        "outcome": Outcome.DONE,
        "scripted": True,
        "model": "scripted",
        "level": "read-only",
        "workspace": "/srv/app",
        "nominal_at": datetime(2026, 12, 1, 7, 0, tzinfo=UTC),
        "started_at": datetime(2026, 12, 1, 7, 0, tzinfo=UTC),
        "finished_at": AT,
        "duration_s": 60.5,
        "iterations": 3,
        "tool_calls": 4,
        "denied": (Denial(tool="write", reason="read-only runs do not write"),),
        "answer": "All **well**.",
        **changes,
    }
    return RunReport.model_validate(fields)


def approval(**changes: object) -> ApprovalNotice:
    """Return the notice of a call that waits for a person."""
    fields: dict[str, object] = {
        "run_id": "nightly@20261201T070000Z",
        "job": "nightly",
        "call_id": "2.1",
        "tool": "bash",
        "arguments": '{"command": "git push"}',
        "reason": "commands ask at this level",
        "requested_at": AT,
        "expires_at": datetime(2026, 12, 1, 19, 1, tzinfo=UTC),
        **changes,
    }
    return ApprovalNotice.model_validate(fields)


def sent(name: FormatName, notice: Notice, form: Form = Form.RICH) -> Any:  # noqa: ANN401
    return json.loads(render(name, notice, Wish(ID, form)).body)


def test_the_standard_message_holds_the_whole_report() -> None:
    assert sent(FormatName.STANDARD, report()) == {
        "type": "kova.run.completed",
        "timestamp": "2026-12-01T07:01:00Z",
        "data": {
            "run_id": "nightly@20261201T070000Z",
            "job": "nightly",
            "description": "",
            "outcome": "done",
            "execution": "finished",
            "scripted": True,
            "note": "scripted: no model was called",
            "model": "scripted",
            "mode": "agent",
            "level": "read-only",
            "workspace": "/srv/app",
            "nominal_at": "2026-12-01T07:00:00Z",
            "started_at": "2026-12-01T07:00:00Z",
            "finished_at": "2026-12-01T07:01:00Z",
            "duration_s": 60.5,
            "attempts": 1,
            "iterations": 3,
            "tool_calls": 4,
            "denied": [{"tool": "write", "reason": "read-only runs do not write"}],
            "denied_count": 1,
            "tokens_in": 0,
            "tokens_out": 0,
            "cost_usd": None,
            "reason": "",
            "partial": False,
            "pauses": "",
            "changes": [],
            "changes_count": 0,
            "inputs": {},
            "truncated": False,
            "answer": "All **well**.",
            "answer_bytes": 13,
            "answer_bytes_sent": 13,
        },
    }


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        (Outcome.DONE, "kova.run.completed"),
        (Outcome.NOTHING_TO_REPORT, "kova.run.completed"),
        (Outcome.CANCELLED, "kova.run.cancelled"),
        (Outcome.TIMED_OUT, "kova.run.timed_out"),
        *[
            (outcome, "kova.run.failed")
            for outcome in Outcome
            if outcome not in {Outcome.DONE, Outcome.NOTHING_TO_REPORT, Outcome.CANCELLED, Outcome.TIMED_OUT}
        ],
    ],
)
def test_each_outcome_has_its_type(outcome: Outcome, kind: str) -> None:
    assert sent(FormatName.STANDARD, report(outcome=outcome))["type"] == kind


def test_a_run_that_a_model_played_has_no_note() -> None:
    assert "note" not in sent(FormatName.STANDARD, report(scripted=False))["data"]


def test_a_report_says_that_the_schedule_rests_why_and_how_it_goes_on() -> None:
    rests = report(outcome=Outcome.FAILED, answer="", reason="the key was refused", pauses="three times in a row")
    blocks = sent(FormatName.SLACK, rests)["blocks"]

    assert blocks[0]["text"]["text"] == "❌ nightly: failed, schedule paused"
    assert blocks[1]["fields"][0]["text"] == "*Schedule*\npaused: three times in a row"
    assert "`kova-auto jobs resume nightly`" in blocks[-2]["text"]["text"].splitlines()
    assert sent(FormatName.STANDARD, rests)["data"]["pauses"] == "three times in a row"


def test_an_approval_says_what_waits_and_until_when() -> None:
    message = sent(FormatName.STANDARD, approval())

    assert (message["type"], message["data"]["call_id"], message["data"]["expires_at"]) == (
        "kova.approval.requested",
        "2.1",
        "2026-12-01T19:01:00Z",
    )


def test_a_test_message_holds_what_breaks_receivers() -> None:
    message = sent(FormatName.STANDARD, EndpointTest(endpoint="ci", sent_at=AT))

    assert message["type"] == "kova.test"
    assert {"\n", '"', "👩\u200d👩\u200d👧", "日", "&", "<b>", "@channel"} <= {
        part
        for part in ("\n", '"', "👩\u200d👩\u200d👧", "日", "&", "<b>", "@channel")
        if part in message["data"]["text"]
    }


@pytest.mark.parametrize("character", ["a", "日", '"', "\\", "\n", "👩\u200d👩\u200d👧"])
def test_a_long_answer_is_cut_to_what_fits_and_counted(character: str) -> None:
    answer = character * 200_000
    body = render(FormatName.STANDARD, report(answer=answer), Wish(ID)).body
    data = json.loads(body)["data"]

    assert 19_900 < len(body) <= 20_000
    assert answer.startswith(data["answer"])
    assert len(data["answer"]) % len(character) == 0
    assert (data["truncated"], data["answer_bytes"], data["answer_bytes_sent"]) == (
        True,
        len(answer.encode()),
        len(data["answer"].encode()),
    )


def test_long_lists_are_cut_and_counted() -> None:
    many = report(
        denied=tuple(Denial(tool="bash", reason=f"{n} " + "日" * 2000) for n in range(500)),
        changes=tuple(Change(path=f"{n}/" + "x" * 500, what="created") for n in range(500)),
    )
    body = render(FormatName.STANDARD, many, Wish(ID)).body
    data = json.loads(body)["data"]

    assert len(body) <= 20_000
    assert (data["truncated"], data["denied_count"], data["changes_count"], len(data["denied"])) == (True, 500, 500, 5)
    assert data["answer"] == "All **well**."


def test_text_is_cleaned_before_it_is_kept() -> None:
    made = report(answer="a\r\n\x1b[31mb\x00\u202e\ud800", denied=(Denial(tool="bash", reason="\x07no"),))

    assert (made.answer, made.denied[0].reason) == ("a\nb\ufffd", "no")


@pytest.mark.parametrize("field", ["duration_s", "cost_usd"])
@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_number_that_json_cannot_hold_is_refused(field: str, number: float) -> None:
    with pytest.raises(ValidationError):
        report(**{field: number})


@pytest.mark.parametrize("notice", [report(), approval(), EndpointTest(endpoint="ci", sent_at=AT)])
def test_a_notice_survives_being_stored(notice: Notice) -> None:
    assert NOTICE.validate_json(notice.model_dump_json()) == notice


def test_only_a_message_that_did_not_fit_is_sent_plainly() -> None:
    assert form_after([AttemptOutcome.SERVER_ERROR, AttemptOutcome.AMBIGUOUS]) is Form.RICH
    assert form_after([AttemptOutcome.BAD_PAYLOAD, AttemptOutcome.SERVER_ERROR]) is Form.PLAIN


def test_only_where_a_receiver_can_tell_a_repeat_may_attempts_end_in_doubt_without_end() -> None:
    knows_ids = {FormatName.STANDARD, FormatName.CLOUDEVENTS, FormatName.PAGERDUTY, FormatName.HEALTHCHECKS}
    for name in FORMATS:
        doubts = FORMATS[name].doubts(options_of(NEEDS[name], {}))
        assert (doubts is None) == (name in knows_ids), name
        assert doubts is None or 1 <= doubts <= 2


def test_a_slack_message_says_it_all() -> None:
    message = sent(FormatName.SLACK, report())
    header, facts, body, command, footer = message["blocks"]

    assert header == {"type": "header", "text": {"type": "plain_text", "text": "✅ nightly: done"}}
    assert [field["text"] for field in facts["fields"]] == [
        "*Model*\nscripted (scripted: no model was called)",
        "*Mode*\nagent, read-only",
        "*Took*\n1 min 0 s, 3 iterations",
        "*Tools*\n4 calls, 1 denied",
        "*Changed*\nno file",
        "*Scheduled for*\n2026-12-01 07:00 UTC",
        "*Workspace*\n/srv/app",
    ]
    assert body["text"]["text"] == "All *well*.\n\n*Not allowed:*\n• `write`: read-only runs do not write"
    assert command["text"]["text"] == "`kova-auto runs show nightly@20261201T070000Z`"
    assert footer["elements"][0]["text"] == (
        "run nightly@20261201T070000Z · scripted: no model was called · msg_abcdefgh"
    )
    assert message["text"] == "✅ nightly: done. All **well**."


def test_a_slack_approval_holds_the_exact_commands() -> None:
    blocks = sent(FormatName.SLACK, approval())["blocks"]

    assert blocks[0]["text"]["text"] == "⚠️ nightly: bash needs your approval"
    assert blocks[-2]["text"]["text"] == (
        "`kova-auto approvals allow nightly@20261201T070000Z 2.1`\n"
        "`kova-auto approvals deny nightly@20261201T070000Z 2.1`"
    )


def test_a_long_slack_message_keeps_head_and_tail_and_says_what_is_missing() -> None:
    message = json.dumps(sent(FormatName.SLACK, report(answer="head\n" + "x " * 40_000 + "\ntail")))

    assert "head" in message
    assert "tail" in message
    assert re.search(r"\[\\u2026 \d+ characters left out \\u2026\]", message)


def test_the_plain_slack_message_has_no_blocks() -> None:
    message = sent(FormatName.SLACK, report(answer="<!channel> " + "x" * 9000), Form.PLAIN)

    assert set(message) == {"text", "mrkdwn", "unfurl_links", "unfurl_media"}
    assert "&lt;!channel&gt;" in message["text"]
    assert "kova-auto runs show nightly@20261201T070000Z" in message["text"]
    assert size(message["text"]) < 4000


SHORT = st.text(st.characters(exclude_categories=()), max_size=60) | st.sampled_from(
    ["", "<!channel> <@U1> @here", "&" * 400, "日" * 400, "```"]
)
LONG = SHORT | st.sampled_from(
    [
        "&" * 4000,
        "日" * 9000,
        "👩\u200d👩\u200d👧" * 3000,
        "x" * 25_000,
        "\n" * 5000,
        "- a\n" * 3000,
        "```\n" + "<!here>\n" * 2000 + "```",
        "[l](http://e.org) " * 900,
        "# h\n\np\n\n" * 800,
        "**" * 4000,
        "`" * 999,
    ]
)
NOTICES: st.SearchStrategy[Notice] = st.one_of(
    st.builds(
        report,
        answer=LONG,
        reason=LONG,
        workspace=SHORT,
        model=SHORT,
        outcome=st.sampled_from(Outcome),
        denied=st.lists(st.builds(Denial, tool=SHORT, reason=SHORT), max_size=12).map(tuple),
        changes=st.lists(st.builds(Change, path=SHORT, what=st.just("created")), max_size=30).map(tuple),
    ),
    st.builds(approval, tool=SHORT, arguments=LONG, reason=SHORT),
)
# A message may take longer than a test's usual deadline on a busy machine.
GENERATED = settings(max_examples=60, deadline=None)


def texts_in(value: object, *kinds: str) -> Iterator[str]:
    """Return the texts of Slack's text objects."""
    if isinstance(value, dict):
        if value.get("type") in kinds:
            yield value["text"]
        for item in value.values():
            yield from texts_in(item, *kinds)
    elif isinstance(value, list):
        for item in value:
            yield from texts_in(item, *kinds)


@GENERATED
@given(NOTICES)
def test_every_standard_message_is_valid_and_small(notice: Notice) -> None:
    body = render(FormatName.STANDARD, notice, Wish(ID)).body

    assert len(body) <= standard.MAX_BYTES
    assert json.loads(body)["type"] == notice.type


@GENERATED
@given(NOTICES, st.sampled_from(Form))
def test_every_slack_message_is_inside_every_limit_and_mentions_nobody(notice: Notice, form: Form) -> None:
    message = sent(FormatName.SLACK, notice, form)
    blocks = message.get("blocks", [])
    marked = [*texts_in(blocks, "mrkdwn", "plain_text"), message["text"]]

    assert len(blocks) <= MOST["blocks"]
    assert sum(size(text) for text in texts_in(blocks, "mrkdwn", "plain_text")) <= MOST["total"] - 2000
    assert all(0 < size(text) <= MOST["section"] for text in texts_in(blocks, "mrkdwn"))
    assert all(0 < size(text) <= MOST["header"] for text in texts_in(blocks, "plain_text"))
    for block in blocks:
        assert len(block.get("fields", [])) <= MOST["fields"]
        assert all(size(field["text"]) <= MOST["field"] for field in block.get("fields", []))
    assert not any(re.search(r"<[!@#]|@(?:here|channel)\b", text) for text in marked)


def test_every_format_says_what_it_needs_and_what_it_takes_at_most() -> None:
    assert set(NEEDS) == set(FORMATS) == set(FormatName)
    assert {name.value for name in FORMATS} <= set(LIMITS)
