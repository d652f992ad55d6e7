"""Requests as senders write them, and what a job makes of them."""

from __future__ import annotations

import json

from kova_auto.core.inbound.request import Headers, Inbound, Problem
from kova_auto.core.inbound.schemes import scheme_of
from kova_auto.core.job import WebhookTable

NOW = 1_700_000_000
SECRETS = {
    "github": "It's a Secret to Everybody",
    "slack": "8f742231b10e8888abcd99yyyzzz85a5",
    "standard": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    "stripe": "whsec_kova_test_secret",
    "gitlab": "a-token-of-gitlab",
    "token": "a-token-of-mine",
}


def table(source: str, **more: object) -> WebhookTable:
    """Return a hook of a source."""
    return WebhookTable.model_validate({"source": source, "secret": {"env": "SECRET"}, **more})


def signed(source: str, body: bytes, *, now: int = NOW, msg_id: str = "id-1", event: str = "push") -> Inbound:
    """Return a request as its sender writes it."""
    scheme = scheme_of(table(source))
    return Inbound(scheme.sign(scheme.parse_key(SECRETS[source]), body, now, msg_id, event), body)


def check(source: str, request: Inbound, *secrets: str, now: float = NOW) -> Problem | None:
    """Return why a request is not believed."""
    scheme = scheme_of(table(source))
    keys = [scheme.parse_key(secret) for secret in secrets or (SECRETS[source],)]
    return scheme.check(keys, request, now)


def with_header(request: Inbound, name: bytes, value: bytes) -> Inbound:
    """Return a request of which one header says something else."""
    return Inbound(tuple((key, value if key == name else old) for key, old in request.headers), request.body)


def headers(**values: str) -> Headers:
    """Return headers, `_` for `-`."""
    return tuple((name.replace("_", "-").encode(), value.encode()) for name, value in values.items())


def body(payload: object) -> bytes:
    """Return JSON."""
    return json.dumps(payload).encode()
