"""Say what a format is: how a notice becomes a request's body, and when its receiver has taken it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pydantic import JsonValue

from kova_auto.core.delivery.notice import Notice
from kova_auto.core.delivery.outcome import AttemptOutcome, Judge
from kova_auto.core.net.http import Headers


class Form(StrEnum):
    """Say how much a message may rely on."""

    RICH = "rich"
    PLAIN = "plain"  # after the receiver would not take the rich one


@dataclass(frozen=True)
class Rendered:
    """Hold what is sent; the same notice always gives the same bytes."""

    body: bytes
    content_type: str = "application/json"
    headers: Headers = ()


@dataclass(frozen=True)
class Format:
    """Hold what is particular to one kind of receiver.

    Attributes:
        render: Takes the notice, the delivery's id and the form.
        judge: Says what an answer means where its status does not.
        signed: Carries a Standard Webhooks signature.
        dedupes: The receiver can tell a repeat by the delivery's id.
    """

    render: Callable[[Notice, str, Form], Rendered]
    judge: Judge
    signed: bool = False
    dedupes: bool = False


def form_after(past: Sequence[AttemptOutcome]) -> Form:
    """Return the form of the next attempt, given what came of the ones before."""
    return Form.PLAIN if AttemptOutcome.BAD_PAYLOAD in past else Form.RICH


def encode(payload: JsonValue) -> bytes:
    """Return compact JSON in UTF-8, as it is sent and as limits count it."""
    return json.dumps(payload, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
