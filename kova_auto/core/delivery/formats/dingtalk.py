"""Render Markdown for the robots of DingTalk, sign it in the address, and judge what is answered.

Of 21 messages in a minute the last is refused, and all others for ten minutes; so a robot that says "too fast" is left
alone that long.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime
from typing import Final

from pydantic import JsonValue

from kova_auto.core.delivery.document import describe
from kova_auto.core.delivery.format import Form, Format, Rendered, Sealed, Wish, posted
from kova_auto.core.delivery.formats.answer import Codes, Meaning, code_of, fields_of
from kova_auto.core.delivery.formats.commonmark import Dialect
from kova_auto.core.delivery.formats.page import PLAIN, Page, in_body
from kova_auto.core.delivery.formats.sealing import hmac_sha256, with_query
from kova_auto.core.delivery.limits import LIMITS, Unit
from kova_auto.core.delivery.notice import Notice
from kova_auto.core.delivery.outcome import AttemptOutcome, AttemptResult
from kova_auto.core.delivery.target import Target
from kova_auto.core.net.http import HttpResponse

MAX_PLAIN: Final = 2500
BLOCKED_S: Final = 600.0
_MOST: Final = LIMITS["dingtalk"]["body"].most
_MOST_TITLE: Final = 150
_DIALECT: Final = Dialect(Unit.BYTES, strike="", backslash=False, autolinks=False)
_LONE_LINE_END: Final = re.compile(r"(?<!\n)\n(?!\n)")
_TOO_FAST: Final = 1111


def render(notice: Notice, wish: Wish) -> Rendered:
    """Return a Markdown message, or a plain text where that was not taken."""
    document = describe(notice)
    plain = Page(document, wish, PLAIN)
    if wish.form is Form.PLAIN:
        return in_body(plain, lambda text: _message("text", content=text), _MOST, MAX_PLAIN)
    title = plain.title(_MOST_TITLE)
    return in_body(
        Page(document, wish, _DIALECT), lambda text: _message("markdown", title=title, text=_lines(text)), _MOST
    )


def _message(kind: str, **texts: JsonValue) -> JsonValue:
    return {"msgtype": kind, kind: texts, "at": {"isAtAll": False}}


def _lines(text: str) -> str:
    # A line end alone is a space to DingTalk.
    return _LONE_LINE_END.sub("  \n", text)


def seal(target: Target, message: Rendered, delivery_id: str, now: datetime) -> Sealed:
    """Return the request of one attempt; signed in the address with the newest secret where the robot wants that."""
    plain = posted(target, message, delivery_id, now)
    if not target.secrets:
        return plain
    stamp = str(int(now.timestamp() * 1000))
    secret = target.secrets[0].key
    sign = hmac_sha256(secret, f"{stamp}\n".encode() + secret)
    return replace(plain, url=with_query(target.url, timestamp=stamp, sign=sign))


def judge(reply: HttpResponse) -> AttemptResult | None:
    """Return what an answer means: nought as `errcode` alone is good, and "too fast" comes in two ways."""
    fields = fields_of(reply)
    if code_of(fields, "status") == _TOO_FAST:
        return AttemptResult(AttemptOutcome.THROTTLED, f"DingTalk: {_FAST}", retry_after_s=BLOCKED_S)
    return _CODES.judge(reply)


_FAST = "too many messages in a minute, so it takes none for ten"
_UNCHECKED = (
    "the signature, a keyword or our address is not what the robot wants, or the clock of this machine is off by more "
    "than an hour"
)
_CODES: Final = Codes(
    "DingTalk",
    ("errcode",),
    {
        -1: Meaning(AttemptOutcome.SERVER_ERROR, "it is busy"),
        130101: Meaning(AttemptOutcome.THROTTLED, _FAST, wait_s=BLOCKED_S),
        300001: Meaning(AttemptOutcome.BAD_ENDPOINT, "it knows no robot of this token", permanent=True),
        310000: Meaning(AttemptOutcome.BAD_ENDPOINT, _UNCHECKED, permanent=True),
        400013: Meaning(AttemptOutcome.BAD_ENDPOINT, "the group is gone", permanent=True),
        400101: Meaning(AttemptOutcome.BAD_ENDPOINT, "it knows no robot of this token", permanent=True),
        400102: Meaning(AttemptOutcome.BAD_ENDPOINT, "the robot is switched off", permanent=True),
        400106: Meaning(AttemptOutcome.BAD_ENDPOINT, "the robot is gone", permanent=True),
        410100: Meaning(AttemptOutcome.THROTTLED, _FAST, wait_s=BLOCKED_S),
    },
)
FORMAT: Final = Format(render, judge, seal)
