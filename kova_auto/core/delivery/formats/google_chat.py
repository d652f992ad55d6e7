"""Render text for Google Chat's webhooks, in threads where that is wished, and judge what is answered.

Text, and no card: code and tables stay legible, and a notification shows what has happened. Its markup has no way to
escape a character, so what could be a link or a mention is broken by a space of no width.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime
from typing import Final

from pydantic import JsonValue

from kova_auto.core.delivery.document import describe
from kova_auto.core.delivery.format import Form, Format, Rendered, Sealed, Wish, posted
from kova_auto.core.delivery.formats.answer import fields_of, is_good, text_of, unfit_answer
from kova_auto.core.delivery.formats.commonmark import Dialect
from kova_auto.core.delivery.formats.page import Page, in_body
from kova_auto.core.delivery.formats.sealing import with_query
from kova_auto.core.delivery.limits import LIMITS, Unit
from kova_auto.core.delivery.notice import Notice
from kova_auto.core.delivery.outcome import AttemptOutcome, AttemptResult
from kova_auto.core.delivery.target import Target
from kova_auto.core.net.http import HttpResponse

_MOST: Final = LIMITS["google-chat"]["body"].most
_MOST_PLAIN: Final = 3500


class ChatDialect(Dialect):
    """Write Google Chat's markup, which has its own form of links."""

    def anchor(self, label: str, url: str) -> str:
        """Return a link."""
        return f"<{url}|{label.replace('|', '¦').replace('>', '›')}>"  # noqa: RUF001


_DIALECT: Final = ChatDialect(Unit.BYTES, "*", "_", "~", backslash=False, autolinks=False)
_BARE: Final = Dialect(Unit.BYTES, "", "", "", code=False, fences=False, backslash=False, links=False, autolinks=False)


def render(notice: Notice, wish: Wish) -> Rendered:
    """Return the richest text that fits, or a short and plain one where that was not taken."""
    document = describe(notice)
    if wish.form is Form.PLAIN:
        return in_body(Page(document, wish, _BARE), lambda text: _message(text, notice, wish), 4000, _MOST_PLAIN)
    return in_body(Page(document, wish, _DIALECT), lambda text: _message(text, notice, wish), _MOST)


def _message(text: str, notice: Notice, wish: Wish) -> JsonValue:
    message: dict[str, JsonValue] = {"text": text}
    if key := _thread(notice, wish.text("thread")):
        message["thread"] = {"threadKey": key}
    return message


def _thread(notice: Notice, by: str) -> str:
    """Return the name of the thread that a message belongs to; empty for one of its own."""
    job = getattr(notice, "job", "")
    match by:
        case "job" if job:
            return f"kova-auto {job}"
        case "run" if run := getattr(notice, "run_id", ""):
            return f"kova-auto {run}"
        case _:
            return ""


def seal(target: Target, message: Rendered, delivery_id: str, now: datetime) -> Sealed:
    """Return the request of one attempt; a repeat under the same id is answered with the message that is there."""
    values = {"requestId": delivery_id}
    if target.options.get("thread", "none") != "none":
        values["messageReplyOption"] = "REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD"
    return replace(posted(target, message, delivery_id, now), url=with_query(target.url, **values))


_DELAY: Final = re.compile(r'"retryDelay"\s*:\s*"([0-9]{1,6}(?:\.[0-9]{1,9})?)s"', re.ASCII)


def judge(reply: HttpResponse) -> AttemptResult | None:
    """Return what an answer means: the message itself is the receipt."""
    if is_good(reply):
        if text_of(fields_of(reply), "name").startswith("spaces/"):
            return AttemptResult(AttemptOutcome.DELIVERED, "Google Chat answered with the message")
        return unfit_answer(reply, "Google Chat")
    error = fields_of(reply).get("error")
    status = text_of(error, "status") if isinstance(error, dict) else ""
    if reply.status == 429 or status == "RESOURCE_EXHAUSTED":
        asked = _DELAY.search(reply.body.decode("utf-8", "replace"))
        detail = "Google Chat asks to slow down"
        return AttemptResult(AttemptOutcome.THROTTLED, detail, retry_after_s=float(asked[1]) if asked else None)
    if b"API_KEY_INVALID" in reply.body or status in {"PERMISSION_DENIED", "UNAUTHENTICATED", "NOT_FOUND"}:
        detail = f"Google Chat answered {reply.status}: the space or its webhook is not there any more"
        return AttemptResult(AttemptOutcome.BAD_ENDPOINT, detail, permanent=status == "NOT_FOUND")
    return None


FORMAT: Final = Format(render, judge, seal)
