"""Compare what was sent with what is known, in a time that does not tell how much of it fits."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Sequence

from kova_auto.core.inbound.request import TOLERANCE_S, Problem


def plain_key(text: str) -> bytes:
    """Return the key of a secret that is used as it is written."""
    return text.encode("utf-8", "surrogateescape")


def hex_mac(key: bytes, message: bytes) -> bytes:
    """Return the HMAC-SHA256 of a message, in hexadecimal."""
    return hmac.new(key, message, hashlib.sha256).hexdigest().encode("ascii")


def fits(expected: Iterable[bytes], given: Sequence[bytes]) -> bool:
    """Say whether one of the values is one of those expected; every pair is compared."""
    found = [hmac.compare_digest(ours, theirs) for ours in expected for theirs in given]
    return any(found)


def holds_secret(keys: Iterable[bytes], given: bytes) -> bool:
    """Say whether a value is one of the secrets themselves; their lengths stay unknown too."""
    digest = hashlib.sha256(given).digest()
    return fits((hashlib.sha256(key).digest() for key in keys), (digest,))


def age_problem(stamp_s: int, now_s: float) -> Problem | None:
    """Return what is wrong with the age of a timestamp."""
    if stamp_s < now_s - TOLERANCE_S:
        return Problem.TOO_OLD
    return Problem.TOO_NEW if stamp_s > now_s + TOLERANCE_S else None


def digest_of(body: bytes) -> str:
    """Return what tells two bodies apart."""
    return hashlib.sha256(body).hexdigest()
