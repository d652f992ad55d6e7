"""Make what the tests of single formats need: notices, their messages, and what is made of an answer."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from kova_auto.core.delivery.format import Form, Rendered, Sealed, Wish
from kova_auto.core.delivery.needs import NEEDS, options_of
from kova_auto.core.delivery.notice import ApprovalNotice, EndpointTest, Notice, RunReport, ScheduleNotice
from kova_auto.core.delivery.outcome import AttemptResult, classify
from kova_auto.core.delivery.payload import FORMATS, render
from kova_auto.core.delivery.target import FormatName, Target
from kova_auto.core.job import Outcome
from kova_auto.core.net.http import BodyEnd, HttpResponse

NOW = datetime(2026, 12, 1, 7, 0, tzinfo=UTC)
ID = "msg_abcdefghijklmnopqrstuvwxyz"
TEST = EndpointTest(endpoint="team", sent_at=NOW)


def report(outcome: Outcome = Outcome.DONE, *, job: str = "nightly", hour: int = 7, answer: str = "Fine.") -> RunReport:
    return RunReport(
        run_id=f"{job}@20261201T{hour:02}0000Z",
        job=job,
        outcome=outcome,
        scripted=True,
        model="scripted",
        level="read-only",
        workspace="/srv/app",
        finished_at=NOW,
        answer=answer,
    )


def approval(call_id: str = "2.1") -> ApprovalNotice:
    return ApprovalNotice(
        run_id="nightly@20261201T070000Z", job="nightly", call_id=call_id, tool="bash", requested_at=NOW
    )


def lateness(what: str = "late") -> ScheduleNotice:
    fields = {"what": what, "job": "nightly", "nominal_at": NOW, "expected_at": NOW, "noticed_at": NOW, "late_s": 60}
    return ScheduleNotice.model_validate(fields)


def rendered(name: FormatName, notice: Notice, form: Form = Form.RICH, **options: str) -> Rendered:
    return render(name, notice, Wish(ID, form, options_of(NEEDS[name], options)))


def sent(name: FormatName, notice: Notice, form: Form = Form.RICH, **options: str) -> Any:  # noqa: ANN401
    return json.loads(rendered(name, notice, form, **options).body)


def sealed(name: FormatName, message: Rendered, url: str = "", token: str = "") -> Sealed:
    return FORMATS[name].seal(Target("team", name, url or NEEDS[name].url, token=token), message, ID, NOW)


def judged(name: FormatName, status: int, body: object = b"", ending: BodyEnd = BodyEnd.COMPLETE) -> AttemptResult:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return classify(HttpResponse(status, (), raw, ending), FORMATS[name].judge, now=NOW)
