"""What each protocol's file gives the client: a request's body, and a machine that reads the stream."""

from __future__ import annotations

from typing import Protocol

from pydantic import JsonValue

from kova_auto.core.message import ModelChunk, ModelReply, ModelRequest, Usage
from kova_auto.core.provider import Auth, Provider
from kova_auto.llm.faults import Problem
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

    def feed(self, event: SseEvent) -> None:
        """Take one event.

        Raises:
            ModelError: The event says that something went wrong, or is not of this protocol.
        """

    def shown(self) -> list[ModelChunk]:
        """Return what can be shown of the events since this was asked last."""

    @property
    def written(self) -> int:
        """Return how many characters the model has written so far, reasoning and arguments included."""

    @property
    def spent(self) -> Usage | None:
        """Return what has been used so far, as the provider said it; None where it has said nothing."""

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
        """Return the request's body; without what `provider.extra_body` says, which the client adds."""

    def without(self, body: dict[str, JsonValue], problem: Problem) -> dict[str, JsonValue] | None:
        """Return the body without what the provider refuses, or in the other way of saying it.

        None where the problem names nothing that could be left out: then the request is refused for good.
        """

    def is_about_history(self, problem: Problem) -> bool:
        """Say whether a refusal is about what was said before, and none that the next conversation would meet."""

    def decoder(self, provider: Provider, request: ModelRequest) -> Decoder:
        """Return what reads the answer to this request."""


def key_header(provider: Provider) -> dict[str, str]:
    """Return the header that carries the provider's key; none where there is no key."""
    if not provider.api_key:
        return {}
    if provider.auth is Auth.BEARER:
        return {"authorization": f"Bearer {provider.api_key}"}
    return {provider.auth.value: provider.api_key}
