"""Make one attempt: sign, send, and judge what came back. It decides nothing about a next one."""

from __future__ import annotations

from datetime import datetime

from kova_auto.core.delivery.format import Carrier, Rendered
from kova_auto.core.delivery.notifier import Note, Notifier
from kova_auto.core.delivery.outcome import AttemptOutcome, AttemptResult, classify
from kova_auto.core.delivery.payload import FORMATS
from kova_auto.core.delivery.target import Target
from kova_auto.core.errors import ConfigError
from kova_auto.core.net.address import EgressRefusedError
from kova_auto.core.net.http import Exchange, HttpRequest
from kova_auto.core.net.url import parse_url


async def send(
    exchange: Exchange,
    target: Target,
    message: Rendered,
    *,
    delivery_id: str,
    now: datetime,
    notifier: Notifier | None = None,
) -> AttemptResult:
    """Return what came of one attempt to give a message to an endpoint; raise nothing for what the world does.

    Args:
        exchange: What talks HTTP, behind its guard.
        target: The endpoint, its secrets resolved at this moment.
        message: As `render` gave it for the target's format.
        delivery_id: The same on every attempt, so that the receiver can drop a repeat.
        now: Signed as the attempt's time.
        notifier: What carries mail and the like; None where that is not to be.

    Raises:
        ConfigError: The target lacks what its format needs, or what carries it is not there.
    """
    kind = FORMATS[target.format]
    sealed = kind.seal(target, message, delivery_id, now)
    if kind.carrier is Carrier.APPRISE:
        if notifier is None:
            msg = f"nothing carries the format {target.format} here"
            raise ConfigError(msg, key=f"endpoints.{target.name}.format")
        return await notifier.notify(sealed.url, Note.model_validate_json(sealed.body), deadline_s=target.timeout_s)
    try:
        url = parse_url(sealed.url, target.egress)
    except EgressRefusedError as exc:
        return AttemptResult(AttemptOutcome.POLICY_BLOCK, str(exc))
    request = HttpRequest(sealed.method, url, sealed.headers, sealed.body, target.egress, target.timeout_s)
    return classify(await exchange.exchange(request), kind.judge, now=now)
