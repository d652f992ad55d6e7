"""Whoever sends the secret itself, as Alertmanager and scripts do: as a bearer token, or in a header of its own.

Nothing is signed, so that it is only as safe as the TLS before it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from pydantic import JsonValue

from kova_auto.core.inbound.matching import digest_of, holds_secret, plain_key
from kova_auto.core.inbound.request import Headers, Inbound, Problem, Scheme, Told

SPAN_S: Final = 300
"""The same body counts once in so many seconds, where nothing else tells two requests apart."""

AUTHORIZATION: Final = b"authorization"
_BEARER: Final = re.compile(rb"[Bb]earer +([\x21-\x7e]{1,512})")
_TOKEN: Final = re.compile(rb"[\x21-\x7e]{1,512}")
_KEY: Final = re.compile(rb"[A-Za-z0-9_.:-]{1,128}")


def token_scheme(header: bytes = AUTHORIZATION) -> Scheme:
    """Return what believes a request that holds the token in a header; `header` in lower case."""

    def check(keys: Sequence[bytes], request: Inbound, now_s: float) -> Problem | None:
        del now_s
        found = (_BEARER if header == AUTHORIZATION else _TOKEN).fullmatch(request.one(header))
        if not found:
            return Problem.HEADERS
        return None if holds_secret(keys, found[found.lastindex or 0]) else Problem.SIGNATURE

    def sign(key: bytes, body: bytes, now_s: int, msg_id: str, event: str) -> Headers:
        del body, now_s, event
        value = b"Bearer " + key if header == AUTHORIZATION else key
        return (header, value), (b"idempotency-key", msg_id.encode())

    return Scheme(plain_key, check, sign, _read)


def of_this_time(digest: str, now_s: float) -> tuple[str, ...]:
    """Return the ids of a body that has none: that of now, and that of the span before."""
    span = int(now_s) // SPAN_S
    return tuple(f"body-{digest[:32]}-{number}" for number in (span, span - 1))


def _read(request: Inbound, payload: JsonValue, now_s: float) -> Told:
    del payload
    digest, key = digest_of(request.body), request.one(b"idempotency-key")
    return Told(ids=(key.decode(),) if _KEY.fullmatch(key) else of_this_time(digest, now_s), digest=digest)
