"""Make one attempt: sign, send, and judge what came back. It decides nothing about a next one."""

from __future__ import annotations

from datetime import datetime

from kova_auto.core.delivery.format import Format, Rendered
from kova_auto.core.delivery.outcome import AttemptOutcome, AttemptResult, classify
from kova_auto.core.delivery.payload import FORMATS
from kova_auto.core.delivery.signature import signed_headers
from kova_auto.core.delivery.target import Target
from kova_auto.core.errors import ConfigError
from kova_auto.core.net.address import EgressRefusedError
from kova_auto.core.net.http import Exchange, Headers, HttpRequest
from kova_auto.core.net.url import parse_url


async def send(
    exchange: Exchange, target: Target, message: Rendered, *, delivery_id: str, now: datetime
) -> AttemptResult:
    """Return what came of one attempt to give a message to an endpoint; raise nothing for what the world does.

    Args:
        exchange: What talks HTTP, behind its guard.
        target: The endpoint, its secrets resolved at this moment.
        message: As `render` gave it for the target's format.
        delivery_id: The same on every attempt, so that the receiver can drop a repeat.
        now: Signed as the attempt's time.

    Raises:
        ConfigError: The format is a signed one and the target has no secret.
    """
    kind = FORMATS[target.format]
    headers = _headers(kind, target, message, delivery_id, now)
    try:
        url = parse_url(target.url, target.egress)
    except EgressRefusedError as exc:
        return AttemptResult(AttemptOutcome.POLICY_BLOCK, str(exc))
    request = HttpRequest("POST", url, headers, message.body, target.egress, target.timeout_s)
    return classify(await exchange.exchange(request), kind.judge, now=now)


def _headers(kind: Format, target: Target, message: Rendered, delivery_id: str, now: datetime) -> Headers:
    headers = (("Content-Type", message.content_type), *message.headers)
    if not kind.signed:
        return headers
    if not target.secrets:
        msg = f"the format {target.format} is signed: wanted a secret"
        raise ConfigError(msg, key=f"endpoints.{target.name}.secret", hint="whsec_ and base64 of 24 to 64 random bytes")
    return (*headers, *signed_headers(target.secrets, delivery_id, int(now.timestamp()), message.body))
