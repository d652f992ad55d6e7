"""Write a request as Responses wants it, whole each time: nothing is kept at the provider; pure.

Each call is followed by exactly one output; nothing is empty; names and arguments are valid even where the model's own
were not.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from typing import Final

from pydantic import JsonValue

from kova_auto.core.message import (
    AssistantMessage,
    ImagePart,
    ModelRequest,
    Part,
    TextPart,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from kova_auto.core.provider import Provider
from kova_auto.llm.history import GONE, cache_key, told_text, wire_ids
from kova_auto.llm.openai_responses.items import Item
from kova_auto.llm.openai_responses.replay import reply_items

_GOOD_ID: Final = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
_OUTPUT_OF: Final = {"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output"}


def encode(provider: Provider, request: ModelRequest) -> Item:
    """Return the body of a streaming request."""
    body: Item = {
        "model": request.model,
        "input": list[JsonValue](_History(provider, request).items()),
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }
    if request.system.strip():
        body["instructions"] = request.system
    if request.tools:
        body["tools"] = [_tool(spec) for spec in request.tools]
    if request.max_output_tokens is not None:
        body["max_output_tokens"] = request.max_output_tokens
    if request.cache_key:
        body["prompt_cache_key"] = cache_key(request.cache_key)
    return body


def _tool(spec: ToolSpec) -> Item:
    return {
        "type": "function",
        "name": spec.name,
        "description": spec.description,
        "parameters": spec.parameters,
        "strict": False,  # Left out, it would mean true.
    }


class _History:
    def __init__(self, provider: Provider, request: ModelRequest) -> None:
        self._provider, self._request = provider, request
        self._results = {m.call.id: m for m in request.messages if isinstance(m, ToolMessage)}
        self._ids = wire_ids(request, _GOOD_ID, keep=provider.dialect.keeps_ids)

    def items(self) -> list[Item]:
        found: list[Item] = []
        said: list[Part] = []  # what the user says next
        for number, message in enumerate(self._request.messages):
            match message:
                case UserMessage():
                    said.extend(message.parts)
                case AssistantMessage():
                    spoken = reply_items(message, number, self._ids, self._provider, self._request.model)
                    if spoken:
                        found += [*self._user(said), *spoken, *self._outputs(message, spoken)]
                        said = []
                case ToolMessage():
                    pass  # Told with the reply that asked for it.
        return [*found, *self._user(said)]

    def _user(self, parts: Sequence[Part]) -> list[Item]:
        content = [self._part(part) for part in parts if isinstance(part, ImagePart) or part.text.strip()]
        return [{"type": "message", "role": "user", "content": list[JsonValue](content)}] if content else []

    def _outputs(self, message: AssistantMessage, spoken: list[Item]) -> list[Item]:
        kinds = {item["call_id"]: _OUTPUT_OF[str(item["type"])] for item in spoken if item.get("type") in _OUTPUT_OF}
        return [
            {"type": kinds[self._ids[call.id]], "call_id": self._ids[call.id], "output": self._told(call_result)}
            for call in message.calls
            for call_result in [self._results.get(call.id)]
        ]

    def _told(self, result: ToolMessage | None) -> JsonValue:
        text = told_text(result)
        images = [part for part in result.parts if isinstance(part, ImagePart)] if result else []
        if not images:
            return text
        return [self._part(TextPart(text=text)), *(self._part(image) for image in images)]

    def _part(self, part: Part) -> Item:
        if isinstance(part, TextPart):
            return {"type": "input_text", "text": part.text}
        content = self._request.images.get(part.blob)
        if content is None:
            return {"type": "input_text", "text": GONE}
        url = f"data:{part.media_type};base64,{base64.b64encode(content).decode()}"
        return {"type": "input_image", "image_url": url, "detail": "auto"}
