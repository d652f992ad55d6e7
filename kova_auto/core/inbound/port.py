"""What a listener asks of the house: which hooks there are, and what to answer."""

from __future__ import annotations

from typing import Protocol

from kova_auto.core.inbound.answer import Answer
from kova_auto.core.inbound.request import Inbound
from kova_auto.core.job import WebhookTable


class Door(Protocol):
    """Know the hooks, and take in what is sent to them."""

    def hook(self, name: str) -> WebhookTable | None:
        """Return the hook of a name, None where there is none."""

    async def take(self, name: str, request: Inbound, kind: str) -> Answer:
        """Return what a request is answered, once it is kept; `kind` is the media type of its body."""
