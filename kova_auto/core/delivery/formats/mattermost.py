"""Render Markdown for Mattermost's incoming webhooks and for Rocket.Chat's, and judge what they answer.

Both take one text. Mattermost also turns what looks like Slack's markup into mentions, so that is broken as well.
"""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue

from kova_auto.core.delivery.document import describe
from kova_auto.core.delivery.format import Form, Format, Rendered, Wish, encode
from kova_auto.core.delivery.formats.answer import fields_of, said_ok, text_of
from kova_auto.core.delivery.formats.commonmark import Dialect
from kova_auto.core.delivery.formats.page import Page
from kova_auto.core.delivery.limits import LIMITS
from kova_auto.core.delivery.notice import Notice
from kova_auto.core.delivery.outcome import AttemptOutcome, AttemptResult
from kova_auto.core.net.http import HttpResponse

_MOST: Final = LIMITS["mattermost"]["text"].most
_MOST_PLAIN: Final = 3900  # what servers before 5.0 take
_DIALECT: Final = Dialect()
_BARE: Final = Dialect(bold="", italic="", strike="", code=False, fences=False, links=False, autolinks=False)


def render(notice: Notice, wish: Wish) -> Rendered:
    """Return the richest text that fits, or a short and plain one where that was not taken."""
    document = describe(notice)
    if wish.form is Form.PLAIN:
        return _message(Page(document, wish, _BARE).within(_MOST_PLAIN, most=2500), wish)
    return _message(Page(document, wish, _DIALECT).within(_MOST), wish)


def _message(text: str, wish: Wish) -> Rendered:
    message: dict[str, JsonValue] = {"text": text}
    if channel := wish.text("channel"):
        message["channel"] = channel
    return Rendered(encode(message))


# Parts of the ids that Mattermost gives its errors, and whether another try could change anything.
_UNFIT: Final = ("text", "parse", "attachment", "split_props", "too_large")
_GONE: Final = ("invalid", "disabled", "permissions")


def judge(reply: HttpResponse) -> AttemptResult | None:
    """Return what an answer means: `ok` or `{"success":true}`, or an error with an id of its own."""
    if reply.status == 200:
        return said_ok(reply, "Mattermost")
    error = text_of(fields_of(reply), "id") or text_of(fields_of(reply), "error")
    if not error or reply.status == 429:
        return None
    name = error.removeprefix("web.incoming_webhook.").removesuffix(".app_error")
    if reply.status in {400, 413} and any(part in name for part in _UNFIT):
        return AttemptResult(
            AttemptOutcome.BAD_PAYLOAD, f"Mattermost answered {reply.status}: it will not take the text"
        )
    if reply.status < 500 or "disabled" in name:
        detail = f"Mattermost answered {reply.status}: the webhook or its channel is not there, or may not be used"
        return AttemptResult(AttemptOutcome.BAD_ENDPOINT, detail, permanent=name.startswith(_GONE))
    return None


FORMAT: Final = Format(render, judge)
