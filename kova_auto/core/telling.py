"""The facts about deliveries: attempts to tell an endpoint, and what came of each."""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime

from kova_auto.core.fact import Fact
from kova_auto.core.ids import DeliveryId


class DeliveryStarted(Fact):
    """Announce one attempt to tell an endpoint."""

    kind: Literal["delivery_started"] = "delivery_started"
    delivery_id: DeliveryId
    attempt: int


class DeliveryFinished(Fact):
    """Hold what came of one attempt: its outcome class, and what the delivery is now.

    Attributes:
        result: Outcome class of the attempt, as `delivered` or `server_error`.
        status: State of the delivery afterwards, as `waiting`.
        http_status: What the receiver answered, if it did.
        detail: One redacted line.
        excerpt: Beginning of what the receiver answered, as one redacted line.
        next_at: When it is tried again.
    """

    kind: Literal["delivery_finished"] = "delivery_finished"
    delivery_id: DeliveryId
    attempt: int
    result: str
    status: str
    http_status: int | None = None
    detail: str = ""
    excerpt: str = ""
    next_at: AwareDatetime | None = None


class DeliveryRequeued(Fact):
    """Take up a dead or waiting delivery at once, because a person asked."""

    kind: Literal["delivery_requeued"] = "delivery_requeued"
    delivery_id: DeliveryId
    by: str
