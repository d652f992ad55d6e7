"""Sign and verify messages as Standard Webhooks 1.0.0 says, over id, timestamp and the exact body.

`v1` is HMAC-SHA256 with a secret that both sides hold; `v1a` is ed25519, of which the receiver holds the public half.
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

from kova_auto.core.delivery import ed25519
from kova_auto.core.errors import ConfigError

PREFIX = "whsec_"
PRIVATE_PREFIX = "whsk_"
PUBLIC_PREFIX = "whpk_"
TOLERANCE_S = 300
MAX_SIGNATURES = 16

_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")
_STAMP = re.compile(r"[0-9]{1,12}")
_SIGNATURE = re.compile(r"v1,[A-Za-z0-9+/]{43}=|v1a,[A-Za-z0-9+/]{86}==")


class Kind(StrEnum):
    """Name how a key signs; the value opens each signature."""

    HMAC = "v1"
    ED25519 = "v1a"


@dataclass(frozen=True)
class SigningSecret:
    """Hold a key that signs what an endpoint is sent; it is never shown.

    Attributes:
        key: What the endpoint shares with us, or the 32 bytes that an ed25519 key grows from.
    """

    key: bytes = field(repr=False)
    kind: Kind = Kind.HMAC


@dataclass(frozen=True)
class PublicKey:
    """Hold the public half of an ed25519 key: it verifies, and signs nothing."""

    key: bytes


class Problem(StrEnum):
    """Say why a message is not taken for ours."""

    HEADERS = "a webhook-id, webhook-timestamp or webhook-signature header is missing or malformed"
    TOO_OLD = "the timestamp is too old"
    TOO_NEW = "the timestamp is in the future"
    SIGNATURE = "no signature fits"


def parse_secret(text: str, *, key: str = "secret", asymmetric: bool = False) -> SigningSecret:
    """Return the secret that `whsec_` and base64 of 24 to 64 bytes spell.

    Args:
        text: The secret; no message repeats it.
        key: Dotted key in the settings, named in the error.
        asymmetric: It may as well be `whsk_` and an ed25519 key: its 32 bytes, or these with the public half behind.

    Raises:
        ConfigError: It is anything else, or an ed25519 key without the extra that can use it.
    """
    if asymmetric and text.startswith(PRIVATE_PREFIX):
        return _parse_private(text, key)
    if not text.startswith(PREFIX):
        wanted = f"{PREFIX} or {PRIVATE_PREFIX}" if asymmetric else PREFIX
        hint = "that is the public half: the receiver needs it, we sign with the other" * text.startswith(PUBLIC_PREFIX)
        msg = f"wanted a signing secret that begins with {wanted}"
        raise ConfigError(msg, key=key, hint=hint)
    raw = _decoded(text, PREFIX, key)
    if not 24 <= len(raw) <= 64:
        msg = f"wanted a signing secret of 24 to 64 bytes, found {len(raw)}"
        raise ConfigError(msg, key=key)
    return SigningSecret(raw)


def _parse_private(text: str, key: str) -> SigningSecret:
    raw = _decoded(text, PRIVATE_PREFIX, key)
    seed, public = raw[: ed25519.SEED_BYTES], raw[ed25519.SEED_BYTES :]
    if len(seed) != ed25519.SEED_BYTES or len(public) not in {0, ed25519.PUBLIC_BYTES}:
        msg = f"wanted an ed25519 key of 32 bytes, or of 64 with its public half, found {len(raw)}"
        raise ConfigError(msg, key=key)
    if public not in {b"", ed25519.public_of(seed, key=key)}:
        msg = "wanted an ed25519 key whose second half is the public key of the first, found another"
        raise ConfigError(msg, key=key)
    return SigningSecret(seed, Kind.ED25519)


def parse_public(text: str, *, key: str = "secret") -> PublicKey:
    """Return the public key that `whpk_` and base64 of 32 bytes spell.

    Raises:
        ConfigError: It is anything else.
    """
    if not text.startswith(PUBLIC_PREFIX):
        msg = f"wanted a public key that begins with {PUBLIC_PREFIX}"
        raise ConfigError(msg, key=key)
    raw = _decoded(text, PUBLIC_PREFIX, key)
    if len(raw) != ed25519.PUBLIC_BYTES:
        msg = f"wanted a public key of 32 bytes, found {len(raw)}"
        raise ConfigError(msg, key=key)
    return PublicKey(raw)


def _decoded(text: str, prefix: str, key: str) -> bytes:
    try:
        return base64.b64decode(text.removeprefix(prefix), validate=True)
    except (binascii.Error, ValueError):
        msg = f"wanted base64 after {prefix}"
        raise ConfigError(msg, key=key) from None


def spell_secret(raw: bytes) -> str:
    """Return the text of a secret, as a person pastes it at the receiver."""
    return PREFIX + base64.b64encode(raw).decode("ascii")


def spell_private(seed: bytes) -> str:
    """Return the text of an ed25519 key, as the settings take it."""
    return PRIVATE_PREFIX + base64.b64encode(seed).decode("ascii")


def spell_public(secret: SigningSecret) -> str:
    """Return the text of the public half of an ed25519 key, as the receiver takes it.

    Raises:
        ConfigError: The extra is not there.
    """
    return PUBLIC_PREFIX + base64.b64encode(ed25519.public_of(secret.key)).decode("ascii")


def sign(secret: SigningSecret, msg_id: str, timestamp_s: int, body: bytes) -> str:
    """Return one signature, as `v1,<base64>` or `v1a,<base64>`.

    Args:
        secret: Decides which.
        msg_id: The delivery's own id, the same on every attempt.
        timestamp_s: The attempt's time, whole seconds since 1970.
        body: Exactly what is sent.

    Raises:
        ValueError: The id holds a dot or anything else that could be taken for the next field.
        ConfigError: It takes an extra that is not there.
    """
    if not _ID.fullmatch(msg_id):
        msg = f"wanted an id of letters, digits, _ and -, found {msg_id!r}"
        raise ValueError(msg)
    content = _content(msg_id, timestamp_s, body)
    if secret.kind is Kind.ED25519:
        made = ed25519.sign(secret.key, content)
    else:
        made = hmac.new(secret.key, content, hashlib.sha256).digest()
    return f"{secret.kind},{base64.b64encode(made).decode('ascii')}"


def _content(msg_id: str, timestamp_s: int, body: bytes) -> bytes:
    return b"%s.%d." % (msg_id.encode(), timestamp_s) + body


def signed_headers(
    secrets: Sequence[SigningSecret], msg_id: str, timestamp_s: int, body: bytes
) -> tuple[tuple[str, str], ...]:
    """Return the three headers of a message; each secret signs, so that both are good while one replaces the other."""
    signatures = " ".join(sign(secret, msg_id, timestamp_s, body) for secret in secrets)
    return (("webhook-id", msg_id), ("webhook-timestamp", str(timestamp_s)), ("webhook-signature", signatures))


def verify(
    secrets: Sequence[SigningSecret | PublicKey],
    headers: Mapping[str, str],
    body: bytes,
    *,
    now_s: float,
    tolerance_s: int = TOLERANCE_S,
) -> Problem | None:
    """Return why a message is not to be believed, or None for one that is.

    Args:
        secrets: Any of them may have signed, or the holder of the other half of a public key.
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
    fitting = [text for text in given if _SIGNATURE.fullmatch(text)]
    content = _content(msg_id, int(stamp), body)
    # Every pair is compared, so that the time taken does not tell which one fitted.
    fits = [_fits(secret, text, content) for secret in secrets for text in fitting]
    return None if any(fits) else Problem.SIGNATURE


def _fits(secret: SigningSecret | PublicKey, text: str, content: bytes) -> bool:
    kind, _, signature = text.partition(",")
    if isinstance(secret, SigningSecret) and secret.kind is Kind.HMAC:
        ours = base64.b64encode(hmac.new(secret.key, content, hashlib.sha256).digest())
        return kind == Kind.HMAC and hmac.compare_digest(ours, signature.encode("ascii"))
    if kind != Kind.ED25519:
        return False
    public = ed25519.public_of(secret.key) if isinstance(secret, SigningSecret) else secret.key
    return ed25519.fits(public, base64.b64decode(signature), content)
