"""Read what GitLab is asked for: a form."""

from __future__ import annotations

from urllib.parse import parse_qsl

from kova_auto.core.delivery.format import Rendered, Sealed
from tests.core.delivery.kind import Kind, Payload


def _fields(message: Rendered | Sealed) -> Payload:
    return dict(parse_qsl(message.body.decode("ascii"), keep_blank_values=True, strict_parsing=True))


def _variables(payload: Payload) -> dict[str, str]:
    return {name: value for name, value in payload.items() if name.startswith("variables[")}


_PLACE = {"project": "acme/app", "ref": "main"}

KIND = Kind(
    measures={
        "variables": lambda payload: len(_variables(payload)),
        "variable value": lambda payload: _variables(payload).values(),
    },
    shows_command=False,
    read=_fields,
    options=(
        _PLACE,
        {**_PLACE, "detail": "full", "on": "outcome, approval, alert"},
        {**_PLACE, "variables": {"REPORT": "untrusted:answer", "RESULT": "run:outcome"}},
    ),
)
