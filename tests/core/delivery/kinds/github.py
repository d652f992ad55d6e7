"""Read what GitHub is asked for: an event, a workflow's start or a commit's status."""

from __future__ import annotations

from kova_auto.core.delivery.format import encode
from kova_auto.core.delivery.limits import Unit
from tests.core.delivery.kind import Kind, Payload

_ALL = "outcome, approval, alert"
_SHA = "6dcb09b5b57875f334f61aebed695e2e4193db5e"


def _taken(inputs: Payload) -> int:
    return sum(Unit.CHARACTERS.size(text) for pair in inputs.items() for text in pair)


KIND = Kind(
    measures={
        "event_type": lambda payload: [payload.get("event_type", "")],
        "client_payload keys": lambda payload: len(payload.get("client_payload", {})),
        "client_payload": lambda payload: len(encode(payload.get("client_payload", {}))),
        "inputs": lambda payload: len(payload.get("inputs", {})),
        "inputs total": lambda payload: _taken(payload.get("inputs", {})),
        "description": lambda payload: [payload.get("description", "")],
        "context": lambda payload: [payload.get("context", "")],
    },
    shows_command=False,
    options=(
        {"repository": "acme/app"},
        {"repository": "acme/app", "detail": "full", "on": _ALL},
        {
            "repository": "acme/app",
            "send": "workflow-dispatch",
            "workflow": "after.yml",
            "ref": "main",
            "inputs": {"outcome": "run:outcome", "report": "untrusted:answer", "why": "untrusted:reason"},
            "on": _ALL,
        },
        {"repository": "acme/app", "send": "commit-status", "sha": _SHA, "on": _ALL},
    ),
)
