"""Put the protocol together for the client."""

from __future__ import annotations

from typing import Final

from kova_auto.core.message import ModelRequest
from kova_auto.core.provider import Provider
from kova_auto.llm.anthropic_messages.blocks import Body
from kova_auto.llm.anthropic_messages.decode import MessagesDecoder
from kova_auto.llm.anthropic_messages.encode import encode
from kova_auto.llm.anthropic_messages.refusal import refuses_thoughts, without
from kova_auto.llm.faults import Problem
from kova_auto.llm.wire import key_header

API_VERSION: Final = "2026-10-21"


class AnthropicMessages:
    """Speak Messages."""

    path = "messages"

    def headers(self, provider: Provider) -> dict[str, str]:
        """Return the headers with the protocol's version and with the key, where there is one."""
        return {"anthropic-version": provider.api_version or API_VERSION, **key_header(provider)}

    def encode(self, provider: Provider, request: ModelRequest) -> Body:
        """Return the request's body."""
        return encode(provider, request)

    def without(self, body: Body, problem: Problem) -> Body | None:
        """Return the body without what the provider refuses; None where the problem names nothing of that kind."""
        return without(body, problem)

    def is_about_history(self, problem: Problem) -> bool:
        """Say whether a refusal is about what was said before."""
        return refuses_thoughts(problem)

    def decoder(self, provider: Provider, request: ModelRequest) -> MessagesDecoder:
        """Return what reads the answer."""
        return MessagesDecoder(provider, request)
