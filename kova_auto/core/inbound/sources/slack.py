"""Slack: HMAC-SHA256 over version, timestamp and body.

Source: Slack, "Verifying requests from Slack"; reference on webhooks, 4.1.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from pydantic import JsonValue

from kova_auto.core.inbound.matching import age_problem, digest_of, fits, hex_mac, plain_key
from kova_auto.core.inbound.pointer import text_at
from kova_auto.core.inbound.request import Headers, Inbound, Problem, Scheme, Told

_SIGNATURE: Final = re.compile(rb"v0=[0-9a-f]{64}")
_STAMP: Final = re.compile(rb"[0-9]{1,12}")
_LONGEST_CHALLENGE: Final = 1_000


def _check(keys: Sequence[bytes], request: Inbound, now_s: float) -> Problem | None:
    signature, stamp = request.one(b"x-slack-signature"), request.one(b"x-slack-request-timestamp")
    if not (_SIGNATURE.fullmatch(signature) and _STAMP.fullmatch(stamp)):
        return Problem.HEADERS
    if problem := age_problem(int(stamp), now_s):
        return problem
    return None if fits((_signature(key, stamp, request.body) for key in keys), (signature,)) else Problem.SIGNATURE


def _signature(key: bytes, stamp: bytes, body: bytes) -> bytes:
    return b"v0=" + hex_mac(key, b"v0:%s:%s" % (stamp, body))


def _sign(key: bytes, body: bytes, now_s: int, msg_id: str, event: str) -> Headers:
    del msg_id, event
    stamp = str(now_s).encode()
    return (b"x-slack-request-timestamp", stamp), (b"x-slack-signature", _signature(key, stamp, body))


def _read(request: Inbound, payload: JsonValue, now_s: float) -> Told:
    """Events say what happened in `event`, commands name themselves, buttons and forms say what they are."""
    del now_s
    kind = text_at(payload, "type")
    challenge = text_at(payload, "challenge")[:_LONGEST_CHALLENGE]
    is_greeting = kind == "url_verification"
    # A retry is signed anew, so that only what is in the body is the same again.
    known = text_at(payload, "event_id") or text_at(payload, "trigger_id")
    return Told(
        ids=(known or request.one(b"x-slack-signature").decode(),),
        digest=digest_of(request.body),
        event=text_at(payload, "event", "type") or text_at(payload, "command") or kind,
        actor=text_at(payload, "event", "user") or text_at(payload, "user_id") or text_at(payload, "user", "id"),
        greeting={"challenge": challenge} if is_greeting else None,
    )


SLACK: Final = Scheme(plain_key, _check, _sign, _read, form="")
