"""Render for whatever takes CloudEvents 1.0.2 over HTTP, and judge what it answers.

The event is one JSON document ("structured mode"). A receiver that will not take that gets the attributes in headers
and short data as the body ("binary mode"): some know only one of the two. It is signed as Standard Webhooks are, where
the endpoint has a secret.

Source: CloudEvents 1.0.2, "HTTP Protocol Binding" and "HTTP 1.1 Web Hooks".
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Final
from urllib.parse import quote

from kova_auto.core.delivery.data import THIN, Data, fitted
from kova_auto.core.delivery.format import Form, Format, Rendered, Sealed, Wish, posted
from kova_auto.core.delivery.formats.standard import signed, spell_time
from kova_auto.core.delivery.limits import LIMITS
from kova_auto.core.delivery.notice import (
    Digest,
    EndpointNotice,
    EndpointTest,
    Notice,
    ScheduleNotice,
)
from kova_auto.core.delivery.outcome import AttemptOutcome, AttemptResult
from kova_auto.core.delivery.target import Target
from kova_auto.core.net.http import HttpResponse

MEDIA_TYPE: Final = "application/cloudevents+json"
MAX_BYTES: Final = LIMITS["cloudevents"]["body"].most

# What a header takes as it is: printable ASCII but space, the double quote and the percent sign.
_SAFE: Final = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) not in '"%')


def render(notice: Notice, wish: Wish) -> Rendered:
    """Return the event; its id is the delivery's, so that a repeat can be told by `source` and `id`."""
    attributes = {
        "specversion": "1.0",
        "id": wish.delivery_id,
        "source": wish.text("source"),
        "type": notice.type,
        "subject": _subject(notice),
        "time": spell_time(notice.at),
    }
    if wish.form is Form.PLAIN:
        headers = tuple((f"ce-{name}", quote(value, safe=_SAFE)) for name, value in attributes.items())
        return Rendered(fitted(notice, lambda data: data, MAX_BYTES, THIN), headers=headers)

    def wrap(data: Data) -> Data:
        return {**attributes, "datacontenttype": "application/json", "data": data}

    return Rendered(fitted(notice, wrap, MAX_BYTES, wish.text("detail")), f"{MEDIA_TYPE}; charset=utf-8")


def _subject(notice: Notice) -> str:
    """Return what in our house the event is about."""
    match notice:
        case EndpointTest() | EndpointNotice() | Digest():
            return f"endpoints/{notice.endpoint}"
        case ScheduleNotice():
            return f"jobs/{notice.job}"
        case _:
            return f"runs/{notice.run_id}"


def judge(reply: HttpResponse) -> AttemptResult | None:
    """Say what a status means here that would otherwise be taken for less."""
    if reply.status == 415:
        detail = f"the receiver answered 415: it does not take {MEDIA_TYPE}"
        return AttemptResult(AttemptOutcome.BAD_PAYLOAD, detail)
    if reply.status == 410:
        detail = "the receiver answered 410: it wants no more events"
        return AttemptResult(AttemptOutcome.BAD_ENDPOINT, detail, permanent=True)
    return None


def seal(target: Target, message: Rendered, delivery_id: str, now: datetime) -> Sealed:
    """Return the request of one attempt, with what lets us in and what proves that it is ours.

    Raises:
        ConfigError: A secret takes an extra which is not there.
    """
    request = posted(target, message, delivery_id, now)
    if target.token:
        request = replace(request, headers=(*request.headers, ("Authorization", f"Bearer {target.token}")))
    return signed(target, request, delivery_id, now) if target.secrets else request


FORMAT = Format(render, judge, seal, tries_in_doubt=None)
