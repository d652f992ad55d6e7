"""Put the protocol together for the client."""

from __future__ import annotations

from pydantic import JsonValue

from kova_auto.core.message import ModelRequest
from kova_auto.core.provider import Provider
from kova_auto.llm.openai_chat.decode import ChatDecoder
from kova_auto.llm.openai_chat.encode import encode


class OpenAiChat:
    """Speak Chat Completions."""

    path = "chat/completions"

    def headers(self, provider: Provider) -> dict[str, str]:
        """Return the bearer token, where there is one."""
        return {"authorization": f"Bearer {provider.api_key}"} if provider.api_key else {}

    def encode(self, provider: Provider, request: ModelRequest) -> dict[str, JsonValue]:
        """Return the request's body."""
        return encode(provider, request)

    def decoder(self, provider: Provider, request: ModelRequest) -> ChatDecoder:
        """Return what reads the answer."""
        return ChatDecoder(provider, request)
