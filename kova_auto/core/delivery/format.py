"""Say what a format is: how a notice becomes a request, and when its receiver has taken it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType

from pydantic import JsonValue

from kova_auto.core.delivery.notice import Notice
from kova_auto.core.delivery.outcome import AttemptOutcome, AttemptResult, Judge
from kova_auto.core.delivery.target import OptionValue, Target
from kova_auto.core.net.http import Headers


class Form(StrEnum):
    """Say how much a message may rely on."""

    RICH = "rich"
    PLAIN = "plain"  # after the receiver would not take the rich one


@dataclass(frozen=True)
class Wish:
    """Say how a message is to be made.

    Attributes:
        delivery_id: The same on every attempt.
        options: The endpoint's own, as `core/delivery/needs.py` describes them for the format.
    """

    delivery_id: str
    form: Form = Form.RICH
    options: Mapping[str, OptionValue] = field(default_factory=lambda: MappingProxyType({}))

    def text(self, key: str) -> str:
        """Return an option that is one text; empty where it is not given."""
        value = self.options.get(key, "")
        return value if isinstance(value, str) else ""

    def table(self, key: str) -> Mapping[str, str]:
        """Return an option that is a table of texts; empty where it is not given."""
        value = self.options.get(key, {})
        return {} if isinstance(value, str) else value


@dataclass(frozen=True)
class Rendered:
    """Hold what is sent; the same notice and wish always give the same bytes.

    Attributes:
        path: What the message adds to the endpoint's address, where that is how the receiver is told what it is.
    """

    body: bytes
    content_type: str = "application/json"
    headers: Headers = ()
    path: str = ""


@dataclass(frozen=True)
class Sealed:
    """Hold the request of one attempt: its address may be a credential, and its signature is of this moment."""

    url: str = field(repr=False)
    body: bytes = field(repr=False)
    headers: Headers = field(default=(), repr=False)
    method: str = "POST"


Seal = Callable[[Target, Rendered, str, datetime], Sealed]
"""Takes the target, what was rendered, the delivery's id and the attempt's time; raises ConfigError where the target
lacks what this needs."""


def takes_all(_notice: Notice, _wish: Wish) -> AttemptResult | None:
    """Say of any notice that it is sent."""
    return None


def posted(target: Target, message: Rendered, _delivery_id: str, _now: datetime) -> Sealed:
    """Return the request of a receiver that wants no more than the message at the endpoint's address."""
    return Sealed(target.url, message.body, (("Content-Type", message.content_type), *message.headers))


class Carrier(StrEnum):
    """Say who carries a message."""

    HTTP = "http"
    APPRISE = "apprise"  # best effort: it says no more than whether it failed


@dataclass(frozen=True)
class Format:
    """Hold what is particular to one kind of receiver.

    Attributes:
        render: Takes the notice and how it is to be made; within the limits of `core/delivery/limits.py`.
        judge: Says what an answer means where its status does not.
        seal: Makes an attempt's request.
        tries_in_doubt: How many attempts may end without our knowing whether the message arrived, before that is
            said and no more is made; None where the receiver drops a repeat by the delivery's id. A function where the
            endpoint's options decide.
        declines: Says how a notice is settled that this endpoint is not sent; None for one that it is. `EXPIRED` is for
            what is of no use there, `POLICY_BLOCK` for what was promised and cannot be.
    """

    render: Callable[[Notice, Wish], Rendered]
    judge: Judge
    seal: Seal = posted
    tries_in_doubt: int | Callable[[Mapping[str, OptionValue]], int | None] | None = 2
    declines: Callable[[Notice, Wish], AttemptResult | None] = takes_all
    carrier: Carrier = Carrier.HTTP

    def doubts(self, options: Mapping[str, OptionValue]) -> int | None:
        """Return how many attempts may end in doubt, with the options of an endpoint."""
        return self.tries_in_doubt(options) if callable(self.tries_in_doubt) else self.tries_in_doubt


def form_after(past: Sequence[AttemptOutcome]) -> Form:
    """Return the form of the next attempt, given what came of the ones before."""
    return Form.PLAIN if AttemptOutcome.BAD_PAYLOAD in past else Form.RICH


def encode(payload: JsonValue) -> bytes:
    """Return compact JSON in UTF-8, as it is sent and as limits count it."""
    return json.dumps(payload, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
