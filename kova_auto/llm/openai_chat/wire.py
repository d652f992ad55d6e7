"""Put the protocol together for the client."""

from __future__ import annotations

from pydantic import JsonValue

from kova_auto.core.message import ModelRequest
from kova_auto.core.provider import Provider
from kova_auto.llm.faults import Problem
from kova_auto.llm.openai_chat.concede import without
from kova_auto.llm.openai_chat.decode import ChatDecoder
from kova_auto.llm.openai_chat.encode import encode
from kova_auto.llm.wire import key_header


class OpenAiChat:
    """Speak Chat Completions."""

    path = "chat/completions"

    def headers(self, provider: Provider) -> dict[str, str]:
        """Return the header with the key, where there is one."""
        return key_header(provider)

    def encode(self, provider: Provider, request: ModelRequest) -> dict[str, JsonValue]:
        """Return the request's body."""
        return encode(provider, request)

    def without(self, body: dict[str, JsonValue], problem: Problem) -> dict[str, JsonValue] | None:
        """Return the body without what the provider refuses, or in the other way of saying it; None for neither."""
        return without(body, problem)

    def is_about_history(self, problem: Problem) -> bool:
        """Say whether a refusal is about what was said before."""
        del problem
        return False

    def decoder(self, provider: Provider, request: ModelRequest) -> ChatDecoder:
        """Return what reads the answer."""
        return ChatDecoder(provider, request)
