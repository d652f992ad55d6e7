"""Render cards for the bots of Feishu and of Lark, its name elsewhere; sign them, and judge what is answered.

The card is of schema 2.0, whose Markdown is CommonMark. A bot may want a signature, which is of the attempt's moment
and part of the body.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from pydantic import JsonValue

from kova_auto.core.delivery.document import Status, describe
from kova_auto.core.delivery.format import Form, Format, Rendered, Sealed, Wish, posted
from kova_auto.core.delivery.formats.answer import Codes, Meaning
from kova_auto.core.delivery.formats.commonmark import Dialect
from kova_auto.core.delivery.formats.page import PLAIN, Page, in_body
from kova_auto.core.delivery.formats.sealing import hmac_sha256, with_fields
from kova_auto.core.delivery.limits import LIMITS, Unit
from kova_auto.core.delivery.notice import Notice
from kova_auto.core.delivery.outcome import AttemptOutcome
from kova_auto.core.delivery.target import Target

MAX_PLAIN: Final = 2500
_SIGNATURE_BYTES: Final = 200
_MOST: Final = LIMITS["feishu"]["body"].most - _SIGNATURE_BYTES
_MOST_TITLE: Final = 150
_DIALECT: Final = Dialect(Unit.BYTES)
_COLOURS: Final = {Status.GOOD: "green", Status.BAD: "red", Status.ATTENTION: "orange", Status.NEUTRAL: "grey"}


def render(notice: Notice, wish: Wish) -> Rendered:
    """Return a card, or a plain text where the card was not taken."""
    document = describe(notice)
    plain = Page(document, wish, PLAIN)
    if wish.form is Form.PLAIN:
        return in_body(plain, lambda text: {"msg_type": "text", "content": {"text": text}}, _MOST, MAX_PLAIN)
    title, colour = plain.title(_MOST_TITLE), _COLOURS[document.status]
    return in_body(Page(document, wish, _DIALECT, titled=False), lambda text: _card(title, colour, text), _MOST)


def _card(title: str, colour: str, text: str) -> JsonValue:
    card: JsonValue = {
        "schema": "2.0",
        "header": {"title": {"tag": "plain_text", "content": title}, "template": colour},
        "body": {"elements": [{"tag": "markdown", "content": text}]},
    }
    return {"msg_type": "interactive", "card": card}


def seal(target: Target, message: Rendered, delivery_id: str, now: datetime) -> Sealed:
    """Return the request of one attempt; signed with the newest secret where the bot wants that."""
    if not target.secrets:
        return posted(target, message, delivery_id, now)
    stamp = str(int(now.timestamp()))
    # Feishu takes what is signed for the key, and signs nothing with it.
    sign = hmac_sha256(f"{stamp}\n".encode() + target.secrets[0].key, b"")
    return posted(target, with_fields(message, timestamp=stamp, sign=sign), delivery_id, now)


_CLOCK = "the signature does not fit the bot's secret, or the clock of this machine is off by more than an hour"
_CODES: Final = Codes(
    "Feishu",
    ("code", "StatusCode"),
    {
        9499: Meaning(AttemptOutcome.BAD_PAYLOAD, "it cannot read the request"),
        11232: Meaning(AttemptOutcome.THROTTLED, "too many messages in a minute", wait_s=60),
        19001: Meaning(AttemptOutcome.BAD_ENDPOINT, "it knows no bot of this address", permanent=True),
        19021: Meaning(AttemptOutcome.BAD_ENDPOINT, _CLOCK, permanent=True),
        19022: Meaning(AttemptOutcome.BAD_ENDPOINT, "the bot does not take messages from our address", permanent=True),
        19024: Meaning(AttemptOutcome.BAD_ENDPOINT, "the bot wants a keyword in every message", permanent=True),
        19036: Meaning(AttemptOutcome.BAD_PAYLOAD, "the message is too long"),
    },
)
FORMAT: Final = Format(render, _CODES.judge, seal)
