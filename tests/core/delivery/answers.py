"""What came of an attempt, by what a receiver answers."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from kova_auto.core.delivery.outcome import AttemptOutcome, AttemptResult, classify
from kova_auto.core.delivery.payload import FORMATS
from kova_auto.core.delivery.target import FormatName
from kova_auto.core.net.http import BodyEnd, Headers, HttpResponse

NOW = datetime(2026, 12, 1, 7, 0, tzinfo=UTC)
PAGE = b"<!DOCTYPE html><title>Sign in</title>"


def judged(
    name: FormatName, status: int, body: object = b"", headers: Headers = (), ending: BodyEnd = BodyEnd.COMPLETE
) -> AttemptResult:
    """Return what a format makes of an answer; a body that is no bytes is sent as JSON."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return classify(HttpResponse(status, headers, raw, ending), FORMATS[name].judge, now=NOW)


def verdict(
    name: FormatName, status: int, body: object = b"", headers: Headers = (), ending: BodyEnd = BodyEnd.COMPLETE
) -> tuple[AttemptOutcome, bool]:
    """Return what came of an attempt, and whether nothing is gained by another."""
    result = judged(name, status, body, headers, ending)
    return result.outcome, result.permanent
