"""Render pushes for Bark, an app for iPhones, and judge what its server answers.

The push itself is the server's: Apple takes 4096 bytes of JSON, in which some characters take six.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Final

from pydantic import JsonValue

from kova_auto.core.delivery.document import Status, describe
from kova_auto.core.delivery.format import Form, Format, Rendered, Sealed, Wish, encode, posted
from kova_auto.core.delivery.formats.answer import code_of, fields_of, is_good, text_of, unfit_answer
from kova_auto.core.delivery.formats.page import PLAIN, Page
from kova_auto.core.delivery.formats.sealing import below, token_of, with_fields
from kova_auto.core.delivery.limits import LIMITS
from kova_auto.core.delivery.notice import Notice
from kova_auto.core.delivery.outcome import AttemptOutcome, AttemptResult
from kova_auto.core.delivery.target import Target
from kova_auto.core.net.http import HttpResponse

MAX_PLAIN: Final = 600
_ADDED_BY_SERVER: Final = 400
_MOST: Final = LIMITS["bark"]["body"].most - _ADDED_BY_SERVER
_MOST_TITLE: Final = 200
_LEVELS: Final = {
    Status.GOOD: "active",
    Status.BAD: "timeSensitive",
    Status.ATTENTION: "timeSensitive",
    Status.NEUTRAL: "passive",
}


def render(notice: Notice, wish: Wish) -> Rendered:
    """Return a push; the phone shows one of the same id in the place of the other."""
    document = describe(notice)
    page = Page(document, wish, PLAIN, titled=False)
    fields: dict[str, JsonValue] = {
        "title": page.title(_MOST_TITLE),
        "level": _LEVELS[document.status],
        "group": wish.text("group"),
        "id": wish.delivery_id[:64],
    }
    if sound := wish.text("sound"):
        fields["sound"] = sound
    if document.links:
        fields["url"] = document.links[0][1]
    most = MAX_PLAIN if wish.form is Form.PLAIN else _MOST
    text = page.within(_MOST, lambda text: size_of_push({**fields, "body": text}), most)
    return Rendered(encode({**fields, "body": text}))


def size_of_push(fields: dict[str, JsonValue]) -> int:
    """Return how many bytes these fields are in the server's JSON, where some characters take six."""
    text = encode(fields).decode()
    return len(text.encode()) + 5 * sum(map(text.count, "<>&")) + 3 * sum(map(text.count, "\u2028\u2029"))


def seal(target: Target, message: Rendered, delivery_id: str, now: datetime) -> Sealed:
    """Return the request of one attempt.

    Raises:
        ConfigError: There is no device key.
    """
    key = token_of(target, "the device key that the app shows")
    plain = posted(target, with_fields(message, device_key=key), delivery_id, now)
    return replace(plain, url=below(target.url.removesuffix("/push"), "/push"))


_NO_DEVICE: Final = ("device token", "device key", "BadDeviceToken", "DeviceTokenNotForTopic", "Unregistered")


def judge(reply: HttpResponse) -> AttemptResult | None:
    """Return what an answer means: 200 counts in the body, where the phone's own refusals stand as well."""
    fields = fields_of(reply)
    code, said = code_of(fields, "code"), text_of(fields, "message")
    if any(one in said for one in _NO_DEVICE):
        return AttemptResult(AttemptOutcome.BAD_ENDPOINT, "Bark knows no phone of this device key", permanent=True)
    if "PayloadTooLarge" in said:
        return AttemptResult(AttemptOutcome.BAD_PAYLOAD, "Bark answered that the push is too long")
    if "TooManyRequests" in said:
        return AttemptResult(AttemptOutcome.THROTTLED, "Bark answered that Apple takes no more pushes now")
    if not is_good(reply):
        return None
    if code is None:
        return unfit_answer(reply, "Bark")
    if code == 200:
        return AttemptResult(AttemptOutcome.DELIVERED, "Bark answered with code 200")
    outcome = AttemptOutcome.SERVER_ERROR if code >= 500 else AttemptOutcome.BAD_PAYLOAD
    return AttemptResult(outcome, f"Bark answered with code {code}")


FORMAT: Final = Format(render, judge, seal)
