"""What each protocol's file gives the client: a request's body, and a machine that reads the stream."""

from __future__ import annotations

from typing import Protocol

from pydantic import JsonValue

from kova_auto.core.message import ModelChunk, ModelReply, ModelRequest
from kova_auto.core.provider import Provider
from kova_auto.llm.sse import SseEvent


class Decoder(Protocol):
    """Read one stream, event by event.

    Attributes:
        progress: Pieces of content so far; keep-alives, empty pieces and counts of tokens are none.
        ended: The model's reply came to its end; bookkeeping may follow.
        closed: Nothing more will come.
    """

    progress: int
    ended: bool
    closed: bool

    def feed(self, event: SseEvent) -> list[ModelChunk]:
        """Return what can be shown of an event.

        Raises:
            ModelError: The event says that something went wrong, or is not of this protocol.
        """

    def reply(self, request_id: str = "") -> ModelReply:
        """Return the whole reply.

        Args:
            request_id: What the provider calls this request, where its headers say so.

        Raises:
            ModelUnavailableError: The stream broke off before its end, or held nothing.
        """


class Wire(Protocol):
    """Translate between our words and one protocol's; pure.

    Attributes:
        path: Endpoint under the provider's base URL.
    """

    path: str

    def headers(self, provider: Provider) -> dict[str, str]:
        """Return the headers that the protocol wants, names in lower case."""

    def encode(self, provider: Provider, request: ModelRequest) -> dict[str, JsonValue]:
        """Return the request's body."""

    def decoder(self, provider: Provider, request: ModelRequest) -> Decoder:
        """Return what reads the answer to this request."""
