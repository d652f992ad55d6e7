"""Render events for PagerDuty's Events API v2: what failed triggers, and the next success of the job resolves.

Both name the job, so a repeat changes nothing, and two failures in a row are one incident.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final, assert_never

from pydantic import JsonValue

from kova_auto.core.delivery.document import Document, Status, describe
from kova_auto.core.delivery.format import Form, Format, Rendered, Sealed, Wish, encode, posted
from kova_auto.core.delivery.formats.answer import fields_of, is_good, unfit_answer
from kova_auto.core.delivery.formats.page import footer
from kova_auto.core.delivery.formats.sealing import token_of, with_fields
from kova_auto.core.delivery.limits import LIMITS, Unit
from kova_auto.core.delivery.notice import (
    ApprovalNotice,
    Digest,
    EndpointNotice,
    EndpointTest,
    Notice,
    RunReport,
    ScheduleNotice,
)
from kova_auto.core.delivery.outcome import AttemptOutcome, AttemptResult
from kova_auto.core.delivery.target import Target
from kova_auto.core.delivery.text import cut, excerpt
from kova_auto.core.job import Outcome
from kova_auto.core.net.http import HttpResponse

MAX_BODY: Final = 10_000
_LIMITS: Final = LIMITS["pagerduty"]
_MOST_FACT: Final = 1000


def render(notice: Notice, wish: Wish) -> Rendered:
    """Return an event; in its plain form without details."""
    document = describe(notice)
    payload: dict[str, JsonValue] = {
        "summary": _shortened(document.title, _LIMITS["summary"].most),
        "source": wish.text("source"),
        "severity": wish.text("severity") if document.status is Status.BAD else _SEVERITIES[document.status],
        "timestamp": notice.at.astimezone(UTC).isoformat(),
    }
    event: dict[str, JsonValue] = {
        "event_action": "resolve" if _is_success(notice, document) else "trigger",
        "dedup_key": _key(notice, wish.text("source")),
        "client": "Kova Auto",
        "payload": payload,
    }
    if wish.form is Form.RICH:
        payload["custom_details"] = _details(document, wish)
        event["links"] = [{"href": url, "text": label} for label, url in document.links[: _LIMITS["links"].most]]
    return Rendered(encode(event))


_SEVERITIES: Final[Mapping[Status, str]] = {
    Status.GOOD: "info",
    Status.ATTENTION: "warning",
    Status.NEUTRAL: "info",
}


def _is_success(notice: Notice, document: Document) -> bool:
    if isinstance(notice, RunReport):
        return notice.outcome in {Outcome.DONE, Outcome.NOTHING_TO_REPORT}
    return document.status is Status.GOOD


def _key(notice: Notice, source: str) -> str:
    """Return what an incident is about: a job, a call that waits, or a test."""
    match notice:
        case RunReport() | ScheduleNotice():
            key = f"{source}/{notice.job}"
        case ApprovalNotice():
            key = f"{source}/{notice.run_id}/{notice.call_id}"
        case EndpointNotice():
            key = f"{source}/endpoint/{notice.endpoint}"
        case Digest():
            key = f"{source}/digest/{notice.endpoint}"
        case EndpointTest():
            key = f"{source}/test/{notice.endpoint}"
        case _:
            assert_never(notice)
    if Unit.CHARACTERS.size(key) <= _LIMITS["dedup_key"].most:
        return key
    return f"{source[:100]}/{hashlib.sha256(key.encode()).hexdigest()}"


def _details(document: Document, wish: Wish) -> JsonValue:
    facts: dict[str, JsonValue] = {label: cut(value, _MOST_FACT) for label, value in document.facts}
    answer = excerpt(document.body_markdown, MAX_BODY).text
    said: dict[str, JsonValue] = {"Said": answer} if answer else {}
    commands: dict[str, JsonValue] = {"Commands": list(document.commands)} if document.commands else {}
    return {**facts, **said, **commands, "Delivery": footer(document, wish)}


def _shortened(text: str, limit: int) -> str:
    characters = limit
    while Unit.CHARACTERS.size(written := cut(text, characters)) > limit:
        characters = characters * 3 // 4
    return written


def seal(target: Target, message: Rendered, delivery_id: str, now: datetime) -> Sealed:
    """Return the request of one attempt.

    Raises:
        ConfigError: There is no routing key.
    """
    key = token_of(target, "the integration key of the service (Events API v2)")
    return posted(target, with_fields(message, routing_key=key), delivery_id, now)


def judge(reply: HttpResponse) -> AttemptResult | None:
    """Return what an answer means: 202 alone is good, and an event that is refused once is refused always."""
    if reply.status == 202:
        return AttemptResult(AttemptOutcome.DELIVERED, "PagerDuty answered 202 (Accepted)")
    if is_good(reply):
        return unfit_answer(reply, "PagerDuty")
    if reply.status == 400 and "routing_key" in str(fields_of(reply).get("errors")):
        return AttemptResult(AttemptOutcome.BAD_ENDPOINT, "PagerDuty does not know the routing key", permanent=True)
    if reply.status in {403, 429}:
        return AttemptResult(AttemptOutcome.THROTTLED, "PagerDuty takes no more events now", retry_after_s=120)
    return None


FORMAT: Final = Format(render, judge, seal, tries_in_doubt=None)
