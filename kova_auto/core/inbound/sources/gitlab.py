"""GitLab: the secret itself in a header. Nothing is signed, so that it is only as safe as the TLS before it.

Source: GitLab, "Webhooks"; reference on webhooks, 4.1.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from pydantic import JsonValue

from kova_auto.core.inbound.matching import digest_of, holds_secret, plain_key
from kova_auto.core.inbound.pointer import text_at
from kova_auto.core.inbound.request import Headers, Inbound, Problem, Scheme, Told
from kova_auto.core.inbound.sources.token import of_this_time

_TOKEN: Final = re.compile(rb"[\x21-\x7e]{1,512}")
_KEY: Final = re.compile(rb"[A-Za-z0-9_.:-]{1,128}")


def _check(keys: Sequence[bytes], request: Inbound, now_s: float) -> Problem | None:
    del now_s
    token = request.one(b"x-gitlab-token")
    if not _TOKEN.fullmatch(token):
        return Problem.HEADERS
    return None if holds_secret(keys, token) else Problem.SIGNATURE


def _sign(key: bytes, body: bytes, now_s: int, msg_id: str, event: str) -> Headers:
    del body, now_s
    return (b"x-gitlab-token", key), (b"idempotency-key", msg_id.encode()), (b"x-gitlab-event", event.encode())


def _read(request: Inbound, payload: JsonValue, now_s: float) -> Told:
    """A retry has the same idempotency key; a version that sends none is told apart by body and time."""
    digest, key = digest_of(request.body), request.one(b"idempotency-key")
    event, action = text_at(payload, "object_kind"), text_at(payload, "object_attributes", "action")
    return Told(
        ids=(key.decode(),) if _KEY.fullmatch(key) else of_this_time(digest, now_s),
        digest=digest,
        event=event,
        whole=f"{event}.{action}" if action else "",
        actor=text_at(payload, "user_username") or text_at(payload, "user", "username"),
    )


GITLAB: Final = Scheme(plain_key, _check, _sign, _read)
