"""Put the protocol together for the client."""

from __future__ import annotations

from pydantic import JsonValue

from kova_auto.core.message import ModelRequest
from kova_auto.core.provider import Provider
from kova_auto.llm.faults import Problem
from kova_auto.llm.openai_responses.decode import ResponsesDecoder
from kova_auto.llm.openai_responses.encode import encode
from kova_auto.llm.openai_responses.refused import without
from kova_auto.llm.wire import key_header


class OpenAiResponses:
    """Speak Responses."""

    path = "responses"

    def headers(self, provider: Provider) -> dict[str, str]:
        """Return the header with the key, where there is one."""
        return key_header(provider)

    def encode(self, provider: Provider, request: ModelRequest) -> dict[str, JsonValue]:
        """Return the request's body."""
        return encode(provider, request)

    def without(self, body: dict[str, JsonValue], problem: Problem) -> dict[str, JsonValue] | None:
        """Return the body without what the provider refuses; None where the problem names nothing of that kind."""
        return without(body, problem)

    def is_about_history(self, problem: Problem) -> bool:
        """Say whether a refusal is about what was said before."""
        del problem
        return False

    def decoder(self, provider: Provider, request: ModelRequest) -> ResponsesDecoder:
        """Return what reads the answer."""
        return ResponsesDecoder(provider, request)
