"""Sign and verify messages as Standard Webhooks 1.0.0 says: `v1`, HMAC-SHA256 over id, timestamp and the exact body.

Ours rather than the `standardwebhooks` package: that one raises foreign exceptions on what an attacker sends and takes
a secret of one byte. The two are compared in tests.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from kova_auto.core.errors import ConfigError

PREFIX = "whsec_"
TOLERANCE_S = 300
MAX_SIGNATURES = 16

_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")
_STAMP = re.compile(r"[0-9]{1,12}")
_SIGNATURE = re.compile(r"v1,([A-Za-z0-9+/]{43}=)")


@dataclass(frozen=True)
class SigningSecret:
    """Hold the key that an endpoint shares with us; it is never shown."""

    key: bytes = field(repr=False)


class Problem(StrEnum):
    """Say why a message is not taken for ours."""

    HEADERS = "a webhook-id, webhook-timestamp or webhook-signature header is missing or malformed"
    TOO_OLD = "the timestamp is too old"
    TOO_NEW = "the timestamp is in the future"
    SIGNATURE = "no signature fits"


def parse_secret(text: str, *, key: str = "secret") -> SigningSecret:
    """Return the secret that `whsec_` and base64 of 24 to 64 bytes spell.

    Args:
        text: The secret; no message repeats it.
        key: Dotted key in the settings, named in the error.

    Raises:
        ConfigError: It is anything else.
    """
    if not text.startswith(PREFIX):
        msg = f"wanted a signing secret that begins with {PREFIX}"
        raise ConfigError(msg, key=key)
    try:
        raw = base64.b64decode(text.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        msg = f"wanted base64 after {PREFIX}"
        raise ConfigError(msg, key=key) from None
    if not 24 <= len(raw) <= 64:
        msg = f"wanted a signing secret of 24 to 64 bytes, found {len(raw)}"
        raise ConfigError(msg, key=key)
    return SigningSecret(raw)


def spell_secret(raw: bytes) -> str:
    """Return the text of a secret, as a person pastes it at the receiver."""
    return PREFIX + base64.b64encode(raw).decode("ascii")


def sign(secret: SigningSecret, msg_id: str, timestamp_s: int, body: bytes) -> str:
    """Return one signature, as `v1,<base64>`.

    Args:
        secret: Shared with the receiver.
        msg_id: The delivery's own id, the same on every attempt.
        timestamp_s: The attempt's time, whole seconds since 1970.
        body: Exactly what is sent.

    Raises:
        ValueError: The id holds a dot or anything else that could be taken for the next field.
    """
    if not _ID.fullmatch(msg_id):
        msg = f"wanted an id of letters, digits, _ and -, found {msg_id!r}"
        raise ValueError(msg)
    digest = hmac.new(secret.key, b"%s.%d." % (msg_id.encode(), timestamp_s) + body, hashlib.sha256).digest()
    return "v1," + base64.b64encode(digest).decode("ascii")


def signed_headers(
    secrets: Sequence[SigningSecret], msg_id: str, timestamp_s: int, body: bytes
) -> tuple[tuple[str, str], ...]:
    """Return the three headers of a message; each secret signs, so that both are good while one replaces the other."""
    signatures = " ".join(sign(secret, msg_id, timestamp_s, body) for secret in secrets)
    return (("webhook-id", msg_id), ("webhook-timestamp", str(timestamp_s)), ("webhook-signature", signatures))


def verify(
    secrets: Sequence[SigningSecret],
    headers: Mapping[str, str],
    body: bytes,
    *,
    now_s: float,
    tolerance_s: int = TOLERANCE_S,
) -> Problem | None:
    """Return why a message is not to be believed, or None for one that is.

    Args:
        secrets: Any of them may have signed.
        headers: Names in lower case. Whatever they hold, nothing is raised.
        body: Exactly what was received.
        now_s: Seconds since 1970.
        tolerance_s: How far the timestamp may be off, both ways, inclusive.
    """
    msg_id, stamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    given = headers.get("webhook-signature", "").split(" ")
    if not (_ID.fullmatch(msg_id) and _STAMP.fullmatch(stamp)) or len(given) > MAX_SIGNATURES:
        return Problem.HEADERS
    if int(stamp) < now_s - tolerance_s:
        return Problem.TOO_OLD
    if int(stamp) > now_s + tolerance_s:
        return Problem.TOO_NEW
    candidates = [text.encode("ascii") for text in given if _SIGNATURE.fullmatch(text)]
    expected = [sign(secret, msg_id, int(stamp), body).encode("ascii") for secret in secrets]
    # Every pair is compared, so that the time taken does not tell which one fitted.
    fits = [hmac.compare_digest(ours, theirs) for ours in expected for theirs in candidates]
    return None if any(fits) else Problem.SIGNATURE
