"""What a sender is answered: little, always in the same shape, and nothing that helps who only tries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pydantic import JsonValue


@dataclass(frozen=True, slots=True)
class Answer:
    """Hold an answer: its status, its JSON object, and further headers."""

    status: int
    body: Mapping[str, JsonValue]
    headers: Mapping[str, str] = field(default_factory=dict)


def _no(status: int, error: str, **headers: str) -> Answer:
    return Answer(status, {"error": error}, {name.replace("_", "-"): value for name, value in headers.items()})


UNREADABLE: Final = _no(400, "bad request")
UNAUTHORIZED: Final = _no(401, "unauthorized")
NOT_FOUND: Final = _no(404, "not found")
NOT_ALLOWED: Final = _no(405, "method not allowed", allow="POST")
TOO_SLOW: Final = _no(408, "request timeout")
CONFLICT: Final = _no(409, "this id has come with another body before")
TOO_LARGE: Final = _no(413, "content too large")
WRONG_TYPE: Final = _no(415, "unsupported media type")
FAILED: Final = _no(500, "internal error")
BUSY: Final = _no(503, "try again", retry_after="10")


def in_slack(said: Answer) -> Answer:
    """Return an answer for whoever typed a command or pressed a button: Slack shows it to nobody else."""
    words = (said.body.get(name) for name in ("status", "why", "id"))
    text = ", ".join(str(word) for word in words if word)
    return Answer(200, {"response_type": "ephemeral", "text": text})


def unreadable(why: str) -> Answer:
    """Return what a sender that is believed is told of a body that cannot be read."""
    return Answer(400, {"error": f"bad request: {why}"})
