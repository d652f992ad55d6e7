"""Render for ntfy, as JSON to the server's root, and judge what is answered.

The endpoint's address is that of the topic, as ntfy shows it. A longer message than 4096 bytes would arrive as a file
that nobody opens.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Final
from urllib.parse import unquote, urlsplit, urlunsplit

from pydantic import JsonValue

from kova_auto.core.delivery.document import Status, describe
from kova_auto.core.delivery.format import Form, Format, Rendered, Sealed, Wish, encode, posted
from kova_auto.core.delivery.formats.answer import code_of, fields_of, is_good, text_of, unfit_answer
from kova_auto.core.delivery.formats.commonmark import Dialect
from kova_auto.core.delivery.formats.page import PLAIN, Page
from kova_auto.core.delivery.formats.sealing import with_fields
from kova_auto.core.delivery.limits import LIMITS, Unit
from kova_auto.core.delivery.notice import Notice
from kova_auto.core.delivery.outcome import AttemptOutcome, AttemptResult
from kova_auto.core.delivery.target import Target
from kova_auto.core.errors import ConfigError
from kova_auto.core.net.http import HttpResponse

MAX_PLAIN: Final = 1000
_MOST: Final = LIMITS["ntfy"]["message"].most
_MOST_TITLE: Final = LIMITS["ntfy"]["title"].most
_DIALECT: Final = Dialect(Unit.BYTES)
_TAGS: Final = {
    Status.GOOD: "white_check_mark",
    Status.BAD: "x",
    Status.ATTENTION: "warning",
    Status.NEUTRAL: "information_source",
}
_PRIORITIES: Final = {Status.GOOD: 3, Status.BAD: 4, Status.ATTENTION: 4, Status.NEUTRAL: 2}


def render(notice: Notice, wish: Wish) -> Rendered:
    """Return a message in Markdown, or a short one of plain text where that was not taken."""
    document, is_rich = describe(notice), wish.form is Form.RICH
    dialect, most = (_DIALECT, _MOST) if is_rich else (PLAIN, MAX_PLAIN)
    text = Page(document, wish, dialect, titled=False).within(_MOST, most=most)
    message: dict[str, JsonValue] = {
        "title": PLAIN.shortened(document.title, _MOST_TITLE),
        "message": text,
        "markdown": is_rich,
        "priority": _PRIORITIES[document.status],
        "tags": [_TAGS[document.status]],
    }
    if document.links:
        message["click"] = document.links[0][1]
    return Rendered(encode(message))


def seal(target: Target, message: Rendered, delivery_id: str, now: datetime) -> Sealed:
    """Return the request of one attempt: the topic goes into the body, so the message may hold any character.

    Raises:
        ConfigError: The address has no topic.
    """
    parts = urlsplit(target.url)
    root, _, topic = parts.path.rstrip("/").rpartition("/")
    if not topic:
        msg = "wanted the address of a topic: there is nothing behind the server's name"
        raise ConfigError(msg, key=f"endpoints.{target.name}.url", hint="such as https://ntfy.sh/a-name-hard-to-guess")
    plain = posted(target, with_fields(message, topic=unquote(topic)), delivery_id, now)
    entry = (("Authorization", f"Bearer {target.token}"),) if target.token else ()
    return replace(plain, url=urlunsplit(parts._replace(path=f"{root}/", query="")), headers=(*plain.headers, *entry))


_NO_TOPIC: Final = frozenset({40009, 40010})
_SPENT: Final = frozenset({42905, 42908})
_FULL: Final = 507


def judge(reply: HttpResponse) -> AttemptResult | None:
    """Return what an answer means: a message that was taken has an id, and limits are told apart by a code."""
    fields = fields_of(reply)
    code = code_of(fields, "code")
    if is_good(reply):
        if text_of(fields, "id"):
            return AttemptResult(AttemptOutcome.DELIVERED, "ntfy took it, and gave it an id")
        return unfit_answer(reply, "ntfy")
    if code in _NO_TOPIC:
        return AttemptResult(AttemptOutcome.BAD_ENDPOINT, "ntfy does not allow a topic of this name", permanent=True)
    if code in _SPENT:
        spent = "ntfy takes no more of us today: its limit for a day is reached"
        return AttemptResult(AttemptOutcome.THROTTLED, spent, retry_after_s=3600)
    if reply.status == _FULL:
        return AttemptResult(AttemptOutcome.THROTTLED, "ntfy has no room for the message now", retry_after_s=600)
    return None


FORMAT: Final = Format(render, judge, seal)
