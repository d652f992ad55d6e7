"""GitHub: HMAC-SHA256 over the body alone, in hexadecimal.

Neither time nor id is signed: a body that was here before is the same request, whatever id it carries.

Source: GitHub, "Validating webhook deliveries"; reference on webhooks, 4.1.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from pydantic import JsonValue

from kova_auto.core.inbound.matching import digest_of, fits, hex_mac, plain_key
from kova_auto.core.inbound.pointer import text_at
from kova_auto.core.inbound.request import Headers, Inbound, Problem, Scheme, Told

_SIGNATURE: Final = re.compile(rb"sha256=([0-9a-f]{64})")
_ID: Final = re.compile(rb"[A-Za-z0-9-]{1,128}")
_EVENT: Final = re.compile(rb"[a-z0-9_]{1,64}")


def _check(keys: Sequence[bytes], request: Inbound, now_s: float) -> Problem | None:
    del now_s
    signature = _SIGNATURE.fullmatch(request.one(b"x-hub-signature-256"))
    event, delivery = request.one(b"x-github-event"), request.one(b"x-github-delivery")
    if not (signature and _EVENT.fullmatch(event) and _ID.fullmatch(delivery)):
        return Problem.HEADERS
    return None if fits((hex_mac(key, request.body) for key in keys), (signature[1],)) else Problem.SIGNATURE


def _sign(key: bytes, body: bytes, now_s: int, msg_id: str, event: str) -> Headers:
    del now_s
    return (
        (b"x-hub-signature-256", b"sha256=" + hex_mac(key, body)),
        (b"x-github-delivery", msg_id.encode()),
        (b"x-github-event", event.encode()),
    )


def _read(request: Inbound, payload: JsonValue, now_s: float) -> Told:
    del now_s
    event, action = request.one(b"x-github-event").decode(), text_at(payload, "action")
    return Told(
        ids=(request.one(b"x-github-delivery").decode(),),
        digest=digest_of(request.body),
        event=event,
        whole=f"{event}.{action}" if action else "",
        actor=text_at(payload, "sender", "login"),
        greeting={"status": "pong"} if event == "ping" else None,
        by_body=True,
    )


GITHUB: Final = Scheme(plain_key, _check, _sign, _read, form="payload")
