"""Render for anything that takes Standard Webhooks: signed JSON with a type, a time and data.

The specification asks for less than 20 kB. What is longer is cut, and says so with byte counts.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from kova_auto.core.delivery.data import Data, fitted
from kova_auto.core.delivery.format import Format, Rendered, Sealed, Wish, posted
from kova_auto.core.delivery.limits import LIMITS
from kova_auto.core.delivery.notice import Notice
from kova_auto.core.delivery.outcome import AttemptResult
from kova_auto.core.delivery.signature import signed_headers
from kova_auto.core.delivery.target import Target
from kova_auto.core.errors import ConfigError
from kova_auto.core.net.http import HttpResponse

MAX_BYTES = LIMITS["standard"]["body"].most


def render(notice: Notice, wish: Wish) -> Rendered:
    """Return the message; its id travels in a header, and no form is plainer than this one."""

    def wrap(data: Data) -> Data:
        return {"type": notice.type, "timestamp": spell_time(notice.at), "data": data}

    return Rendered(fitted(notice, wrap, MAX_BYTES, wish.text("detail")))


def spell_time(at: datetime) -> str:
    """Return an instant as RFC 3339 has it, in UTC."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def judge(_reply: HttpResponse) -> AttemptResult | None:
    """Leave it to the status: any 2xx means that the receiver has it."""
    return None


def seal(target: Target, message: Rendered, delivery_id: str, now: datetime) -> Sealed:
    """Return the request of one attempt, signed for this moment with each of the target's secrets.

    Raises:
        ConfigError: It has none, or one that takes an extra which is not there.
    """
    if not target.secrets:
        msg = f"the format {target.format} is signed: wanted a secret"
        raise ConfigError(msg, key=f"endpoints.{target.name}.secret", hint="whsec_ and base64 of 24 to 64 random bytes")
    return signed(target, posted(target, message, delivery_id, now), delivery_id, now)


def signed(target: Target, request: Sealed, delivery_id: str, now: datetime) -> Sealed:
    """Return a request with the three headers of a signed message."""
    signature = signed_headers(target.secrets, delivery_id, int(now.timestamp()), request.body)
    return replace(request, headers=(*request.headers, *signature))


FORMAT = Format(render, judge, seal, tries_in_doubt=None)
