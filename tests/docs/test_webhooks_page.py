"""The page on webhooks: its receiver believes what we sign and nothing else, and its tables are what is sent."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, get_args

import pytest

from kova_auto.core.delivery.format import Wish
from kova_auto.core.delivery.formats import standard
from kova_auto.core.delivery.notice import (
    ApprovalNotice,
    EndpointNotice,
    EndpointTest,
    Notice,
    RunReport,
    ScheduleNotice,
)
from kova_auto.core.delivery.outcome import AttemptOutcome
from kova_auto.core.delivery.retry import SCHEDULE_S
from kova_auto.core.delivery.signature import SigningSecret, signed_headers, spell_secret
from kova_auto.core.job import Outcome
from kova_auto.core.owed import DeliveryStatus
from tests.docs.pages import bare, blocks, codes, paragraph, table, tables_under

PAGE = "docs/webhooks.md"
KEY, BODY = bytes(range(32)), b'{"type":"kova.test"}'
NOW = datetime(2026, 3, 27, tzinfo=UTC)
Verify = Callable[[str, Mapping[str, str], bytes], bool]


@pytest.fixture
def verify() -> Verify:
    """Take the function out of the page's receiver."""
    code = next(block.text for block in blocks(PAGE) if block.rest == "~/receiver.py")
    names: dict[str, Any] = {"__name__": "receiver"}
    exec(compile(code, PAGE, "exec"), names)  # the page's own text
    names["time"] = SimpleNamespace(time=NOW.timestamp)
    found: Verify = names["verify"]
    return found


def signed(body: bytes = BODY, *, late_s: int = 0) -> dict[str, str]:
    return dict(signed_headers((SigningSecret(KEY),), "msg_1", int(NOW.timestamp()) - late_s, body))


def test_the_receiver_believes_what_we_sign(verify: Verify) -> None:
    assert verify(spell_secret(KEY), signed(), BODY)
    assert verify(spell_secret(KEY), signed() | {"webhook-signature": f"v1,x {signed()['webhook-signature']}"}, BODY)


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        (signed(), BODY + b" "),
        (signed(late_s=400), BODY),
        (signed(late_s=-400), BODY),
        (signed() | {"webhook-id": "msg_2"}, BODY),
        (signed() | {"webhook-timestamp": "soon"}, BODY),
        (signed() | {"webhook-signature": "v1,\u00e4"}, BODY),
        ({}, BODY),
    ],
    ids=["changed", "old", "of tomorrow", "another id", "no time", "no signature", "nothing"],
)
def test_the_receiver_believes_nothing_else(verify: Verify, headers: dict[str, str], body: bytes) -> None:
    assert not verify(spell_secret(KEY), headers, body)


REPORT = RunReport(
    run_id="a", job="a", outcome=Outcome.DONE, scripted=True, model="m", level="l", workspace="/", finished_at=NOW
)
ASKED = ApprovalNotice(run_id="a", job="a", call_id="1.1", tool="t", scripted=True, requested_at=NOW)
LATE = ScheduleNotice(what="late", job="a", nominal_at=NOW, expected_at=NOW, noticed_at=NOW, late_s=0.0)
TROUBLE = EndpointNotice(what="disabled", endpoint="a", happened_at=NOW)
NOTICES = [
    (LATE, "`data` of a job that is late, or so no longer"),
    (TROUBLE, "`data` of an endpoint in trouble, or so no longer"),
    (REPORT, "`data` of a run"),
    (ASKED, "`data` of a call that waits"),
    (EndpointTest(endpoint="a", sent_at=NOW), "`data` of a test"),
]


@pytest.mark.parametrize(("notice", "heading"), NOTICES)
def test_the_body_has_the_names_of_its_table_and_no_others(notice: Notice, heading: str) -> None:
    body = json.loads(standard.render(notice, Wish("msg_1")).body)
    assert sorted(body["data"]) == sorted(table(PAGE, heading).names)
    assert list(body) == tables_under(PAGE, "What is sent: `standard`")[1].names


def test_each_kind_of_message_is_named_with_its_outcomes() -> None:
    kinds = tables_under(PAGE, "What is sent: `standard`")[2]
    written = {bare(row[0]): set(codes(row[1])) for row in kinds.body}
    unreached = ASKED.model_copy(update={"unreached": "desk: HTTP 500"})
    recovered = LATE.model_copy(update={"what": "recovered"})
    troubles = [
        TROUBLE.model_copy(update={"what": what}) for what in get_args(EndpointNotice.model_fields["what"].annotation)
    ]
    others: tuple[Notice, ...] = (ASKED, unreached, LATE, recovered, *troubles, EndpointTest(endpoint="a", sent_at=NOW))
    told: dict[str, set[str]] = {notice.type: set() for notice in others}
    for outcome in Outcome:
        told.setdefault(REPORT.model_copy(update={"outcome": outcome}).type, set()).add(outcome.value)
    assert written == told


def test_the_headers_are_those_of_the_table() -> None:
    headers = tables_under(PAGE, "What is sent: `standard`")[0]
    assert headers.names == ["Content-Type", *signed()]
    assert standard.render(REPORT, Wish("msg_1")).content_type in codes(headers.body[0][1])


def test_outcomes_and_statuses_are_all_there() -> None:
    classes, statuses = tables_under(PAGE, "Outcomes of an attempt")
    assert classes.names == [outcome.value for outcome in AttemptOutcome]
    assert statuses.names == [status.value for status in DeliveryStatus]


def test_the_waits_between_attempts_are_those_of_the_page() -> None:
    numbers = [
        float(number) for number in re.findall(r"\d+", paragraph(PAGE, "Attempts are made").partition(" seconds")[0])
    ]
    assert numbers == list(SCHEDULE_S)
    assert round(sum(SCHEDULE_S) / 3600) == 32
