"""Standard Webhooks 1.0.0: HMAC-SHA256 or ed25519 over id, timestamp and body; a header may carry several signatures.

Of ed25519 we are given the public half, as `whpk_…`: whoever reads it here can send nothing.

Source: Standard Webhooks, "Verifying webhook authenticity"; reference on webhooks, 1.2 and 4.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pydantic import JsonValue

from kova_auto.core.delivery import ed25519, signature
from kova_auto.core.delivery.signature import (
    PUBLIC_PREFIX,
    PublicKey,
    SigningSecret,
    parse_public,
    parse_secret,
    signed_headers,
)
from kova_auto.core.errors import ConfigError
from kova_auto.core.inbound.matching import digest_of
from kova_auto.core.inbound.pointer import text_at
from kova_auto.core.inbound.request import Headers, Inbound, Problem, Scheme, Told

_NAMES: Final = (b"webhook-id", b"webhook-timestamp", b"webhook-signature")
_LONGEST: Final = 4_096
_SAME: Final = {
    signature.Problem.HEADERS: Problem.HEADERS,
    signature.Problem.TOO_OLD: Problem.TOO_OLD,
    signature.Problem.TOO_NEW: Problem.TOO_NEW,
    signature.Problem.SIGNATURE: Problem.SIGNATURE,
}


def _key(text: str) -> bytes:
    """Return the text of a key that can be used: what it is is told by how it begins.

    Raises:
        ConfigError: It is none, or the extra that verifies it is not there.
    """
    key = text.encode("utf-8", "replace")
    if isinstance(found := _parsed(key), PublicKey):
        ed25519.fits(found.key, b"", b"")
    return key


def _parsed(key: bytes) -> SigningSecret | PublicKey:
    text = key.decode()
    return parse_public(text) if text.startswith(PUBLIC_PREFIX) else parse_secret(text)


def _check(keys: Sequence[bytes], request: Inbound, now_s: float) -> Problem | None:
    values = {name: request.one(name) for name in _NAMES}
    if any(not value or len(value) > _LONGEST for value in values.values()):
        return Problem.HEADERS
    headers = {name.decode(): value.decode("latin-1") for name, value in values.items()}
    problem = signature.verify([*map(_parsed, keys)], headers, request.body, now_s=now_s)
    return None if problem is None else _SAME[problem]


def _sign(key: bytes, body: bytes, now_s: int, msg_id: str, event: str) -> Headers:
    del event
    found = _parsed(key)
    if isinstance(found, PublicKey):
        message = "the job holds the public half of a key: only its sender can sign"
        raise ConfigError(message, key="schedule.webhook.secret")
    signed = signed_headers([found], msg_id, now_s, body)
    return tuple((name.encode(), value.encode()) for name, value in signed)


def _read(request: Inbound, payload: JsonValue, now_s: float) -> Told:
    del now_s
    msg_id = request.one(b"webhook-id").decode("ascii")
    return Told(ids=(msg_id,), digest=digest_of(request.body), event=text_at(payload, "type"))


STANDARD: Final = Scheme(_key, _check, _sign, _read)
