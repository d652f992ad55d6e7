"""Stripe: HMAC-SHA256 over timestamp and body; a header may carry several signatures.

Source: Stripe, "Verify webhook signatures manually"; reference on webhooks, 4.1.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final

from pydantic import JsonValue

from kova_auto.core.inbound.matching import age_problem, digest_of, fits, hex_mac, plain_key
from kova_auto.core.inbound.pointer import text_at
from kova_auto.core.inbound.request import Headers, Inbound, Problem, Scheme, Told

_HEADER: Final = re.compile(rb"[a-z0-9]{1,16}=[0-9a-zA-Z]{1,128}(?:,[a-z0-9]{1,16}=[0-9a-zA-Z]{1,128}){1,19}")
_STAMP: Final = re.compile(rb"[0-9]{1,12}")
_SIGNATURE: Final = re.compile(rb"[0-9a-f]{64}")


def _check(keys: Sequence[bytes], request: Inbound, now_s: float) -> Problem | None:
    header = request.one(b"stripe-signature")
    if not _HEADER.fullmatch(header):
        return Problem.HEADERS
    parts = [part.partition(b"=") for part in header.split(b",")]
    stamps = [value for name, _, value in parts if name == b"t"]
    # v0 is a scheme of Stripe's test events that proves nothing.
    given = [value for name, _, value in parts if name == b"v1" and _SIGNATURE.fullmatch(value)]
    if len(stamps) != 1 or not _STAMP.fullmatch(stamps[0]) or not given:
        return Problem.HEADERS
    if problem := age_problem(int(stamps[0]), now_s):
        return problem
    return None if fits((_mac(key, stamps[0], request.body) for key in keys), given) else Problem.SIGNATURE


def _mac(key: bytes, stamp: bytes, body: bytes) -> bytes:
    return hex_mac(key, stamp + b"." + body)


def _sign(key: bytes, body: bytes, now_s: int, msg_id: str, event: str) -> Headers:
    del msg_id, event
    stamp = str(now_s).encode()
    return ((b"stripe-signature", b"t=%s,v1=%s" % (stamp, _mac(key, stamp, body))),)


def _read(request: Inbound, payload: JsonValue, now_s: float) -> Told:
    """An event tells how many endpoints still wait for it; that is no part of what it says."""
    del now_s
    digest = digest_of(request.body)
    if isinstance(payload, dict):
        said = {name: value for name, value in payload.items() if name != "pending_webhooks"}
        digest = digest_of(json.dumps(said, sort_keys=True).encode())
    return Told(ids=(text_at(payload, "id") or digest,), digest=digest, event=text_at(payload, "type"))


STRIPE: Final = Scheme(plain_key, _check, _sign, _read)
