"""Ping a check of Healthchecks: a success, a failure, or a line in its log; the message is the ping's body.

A ping that comes twice does no harm. The address is a credential, and what a ping means is said in the address.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Final
from uuid import NAMESPACE_URL, uuid5

from kova_auto.core.delivery.document import Status, describe
from kova_auto.core.delivery.format import Form, Format, Rendered, Sealed, Wish, posted
from kova_auto.core.delivery.formats.answer import is_good, unfit_answer
from kova_auto.core.delivery.formats.page import PLAIN, Page
from kova_auto.core.delivery.formats.sealing import below
from kova_auto.core.delivery.limits import LIMITS
from kova_auto.core.delivery.notice import EndpointTest, Notice, RunReport
from kova_auto.core.delivery.outcome import AttemptOutcome, AttemptResult
from kova_auto.core.delivery.target import Target
from kova_auto.core.job import Outcome
from kova_auto.core.net.http import HttpResponse

MAX_PLAIN: Final = 1000
_MOST: Final = LIMITS["healthchecks"]["body"].most
_PATHS: Final = {Status.GOOD: "", Status.BAD: "/fail", Status.ATTENTION: "/log", Status.NEUTRAL: "/log"}


def render(notice: Notice, wish: Wish) -> Rendered:
    """Return the ping's body, and what it is: a run that has nothing to report is a success, too."""
    document = describe(notice)
    most = MAX_PLAIN if wish.form is Form.PLAIN else _MOST
    text = Page(document, wish, PLAIN).within(_MOST, most=most)
    is_quiet = isinstance(notice, RunReport) and notice.outcome is Outcome.NOTHING_TO_REPORT
    path = "" if is_quiet else _PATHS[document.status]
    run_id = "" if isinstance(notice, EndpointTest) else notice.run_id
    pair = f"?rid={uuid5(NAMESPACE_URL, f'kova-auto:{run_id}')}" if run_id else ""
    return Rendered(text.encode(), "text/plain; charset=utf-8", path=path + pair)


def seal(target: Target, message: Rendered, delivery_id: str, now: datetime) -> Sealed:
    """Return the request of one attempt."""
    return replace(posted(target, message, delivery_id, now), url=below(target.url, message.path))


_NO_CHECK: Final = frozenset({400, 404, 409})


def judge(reply: HttpResponse) -> AttemptResult | None:
    """Return what an answer means: 200 also goes out to who pings a check that is not there."""
    text = reply.body.strip()[:100].decode("ascii", "replace").lower()
    if reply.status in _NO_CHECK or (is_good(reply) and text.startswith("ok (not found")):
        gone = "Healthchecks has no check of this address, or more than one"
        return AttemptResult(AttemptOutcome.BAD_ENDPOINT, gone, permanent=True)
    if "rate limited" in text:
        return AttemptResult(AttemptOutcome.THROTTLED, "Healthchecks takes no more pings now", retry_after_s=60)
    if not is_good(reply):
        return None
    if text in {"ok", "created"}:
        return AttemptResult(AttemptOutcome.DELIVERED, f"Healthchecks answered {reply.status}: {text}")
    return unfit_answer(reply, "Healthchecks")


FORMAT: Final = Format(render, judge, seal, tries_in_doubt=None)
