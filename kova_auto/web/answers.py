"""Write answers: JSON of one shape, kept by nobody, and the connection ends with it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from starlette.responses import Response

from kova_auto.core.inbound.answer import Answer

PLAIN: Final[Mapping[str, str]] = {
    "cache-control": "no-store",
    "connection": "close",
    "x-content-type-options": "nosniff",
}
"""The headers of every answer."""


def spelled(answer: Answer) -> Response:
    """Return an answer as it is sent."""
    text = json.dumps(dict(answer.body)) + "\n"
    return Response(text, answer.status, {**PLAIN, **answer.headers}, media_type="application/json")
