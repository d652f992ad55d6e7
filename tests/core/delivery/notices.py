"""One small notice of each kind, with fields to be changed by name, and the options of an endpoint."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from kova_auto.core.delivery.format import Form, Wish
from kova_auto.core.delivery.needs import NEEDS, options_of
from kova_auto.core.delivery.notice import (
    ApprovalNotice,
    Digest,
    EndpointNotice,
    EndpointTest,
    RunReport,
    ScheduleNotice,
)
from kova_auto.core.delivery.target import FormatName
from kova_auto.core.job import Outcome

AT = datetime(2026, 12, 1, 7, 1, tzinfo=UTC)
RUN = "nightly@20261201T070000Z"
ID = "msg_abcdefghijklmnopqrstuvwxyz"


def a_report(**changes: object) -> RunReport:
    """Return the report of a small run."""
    fields: dict[str, object] = {
        "run_id": RUN,
        "job": "nightly",
        "outcome": Outcome.DONE,
        "model": "acme/large",
        "level": "read-only",
        "workspace": "/srv/app",
        "finished_at": AT,
        "answer": "All **well**.",
        **changes,
    }
    return RunReport.model_validate(fields)


def an_approval(**changes: object) -> ApprovalNotice:
    """Return the notice of a call that waits for a person."""
    fields: dict[str, object] = {
        "run_id": RUN,
        "job": "nightly",
        "call_id": "2.1",
        "tool": "bash",
        "arguments": '{"command": "git push"}',
        "requested_at": AT,
        **changes,
    }
    return ApprovalNotice.model_validate(fields)


def a_late_job(**changes: object) -> ScheduleNotice:
    """Return the notice of a success that has not come."""
    fields: dict[str, object] = {
        "what": "late",
        "job": "nightly",
        "nominal_at": AT,
        "expected_at": AT + timedelta(hours=1),
        "noticed_at": AT + timedelta(hours=1),
        "late_s": 0,
        **changes,
    }
    return ScheduleNotice.model_validate(fields)


def a_trouble(**changes: object) -> EndpointNotice:
    """Return the notice of an endpoint that takes nothing any more."""
    fields: dict[str, object] = {"what": "disabled", "endpoint": "desk", "happened_at": AT, "job": "nightly", **changes}
    return EndpointNotice.model_validate(fields)


def a_digest(**changes: object) -> Digest:
    """Return the notice of many results."""
    fields: dict[str, object] = {
        "endpoint": "desk",
        "count": 30,
        "since": AT,
        "until": AT,
        "outcomes": {Outcome.DONE: 30},
        "text": "- nightly: done",
        **changes,
    }
    return Digest.model_validate(fields)


A_TEST = EndpointTest(endpoint="ci", sent_at=AT)


def wish_of(name: FormatName, form: Form = Form.RICH, **options: str | Mapping[str, str]) -> Wish:
    """Return a wish with an endpoint's options, defaults filled in."""
    return Wish(ID, form, options_of(NEEDS[name], options))
