"""Render Markdown for the group bots of WeCom, and judge what is answered.

Their Markdown knows bold text, links, quotations and code within a line, and no way to escape any of it; a message is
short: 4096 bytes, of which a Chinese character takes three.
"""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue

from kova_auto.core.delivery.document import describe
from kova_auto.core.delivery.format import Form, Format, Rendered, Wish, encode
from kova_auto.core.delivery.formats.answer import Codes, Meaning
from kova_auto.core.delivery.formats.commonmark import Dialect
from kova_auto.core.delivery.formats.page import PLAIN, Page
from kova_auto.core.delivery.limits import LIMITS, Unit
from kova_auto.core.delivery.notice import Notice
from kova_auto.core.delivery.outcome import AttemptOutcome

_MOST: Final = {kind: limit.most for kind, limit in LIMITS["wecom"].items()}
_DIALECT: Final = Dialect(Unit.BYTES, italic="", strike="", fences=False, backslash=False, autolinks=False)


def render(notice: Notice, wish: Wish) -> Rendered:
    """Return a Markdown message, or a plain text where that was not taken."""
    kind, dialect = ("text", PLAIN) if wish.form is Form.PLAIN else ("markdown", _DIALECT)
    most = _MOST[kind]
    text = Page(describe(notice), wish, dialect).within(most, most=most)
    message: dict[str, JsonValue] = {"msgtype": kind, kind: {"content": text}}
    return Rendered(encode(message))


_CODES: Final = Codes(
    "WeCom",
    ("errcode",),
    {
        -1: Meaning(AttemptOutcome.SERVER_ERROR, "it is busy"),
        40058: Meaning(AttemptOutcome.BAD_PAYLOAD, "it does not like an argument"),
        45002: Meaning(AttemptOutcome.BAD_PAYLOAD, "the message is too long"),
        45009: Meaning(AttemptOutcome.THROTTLED, "too many messages in a minute", wait_s=60),
        45033: Meaning(AttemptOutcome.THROTTLED, "too many messages at once", wait_s=60),
        93000: Meaning(AttemptOutcome.BAD_ENDPOINT, "its key is wrong, or the bot was removed", permanent=True),
        93004: Meaning(AttemptOutcome.BAD_ENDPOINT, "the bot is switched off", permanent=True),
        93008: Meaning(AttemptOutcome.BAD_ENDPOINT, "the bot is not in the group", permanent=True),
    },
)
FORMAT: Final = Format(render, _CODES.judge)
