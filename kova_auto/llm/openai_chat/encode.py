"""Write a request as Chat Completions wants it: a history that every server accepts, whatever it holds; pure.

Each reply that calls tools is followed by exactly one result for each call; roles alternate; nothing is empty; names
and arguments are valid even where the model's own were not.
"""

from __future__ import annotations

import base64
import json
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
    ToolCall,
    ToolMessage,
    UserMessage,
)
from kova_auto.core.provider import Provider
from kova_auto.llm.history import GONE, IMAGES_OF, cache_key, told_text, wire_ids, wire_name
from kova_auto.llm.openai_chat.echo import given_back
from kova_auto.llm.openai_chat.marks import marked

Body = dict[str, JsonValue]

_READ_ON: Final = "I have read the results."
_GOOD_ID: Final = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")


def encode(provider: Provider, request: ModelRequest) -> Body:
    """Return the body of a streaming request."""
    dialect = provider.dialect
    messages = _History(provider, request).messages()
    if request.model.startswith(dialect.marks):
        messages = marked(messages)
    body: Body = {"model": request.model, "messages": list[JsonValue](messages), "stream": True}
    if dialect.stream_usage:
        body["stream_options"] = {"include_usage": True}
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {"name": spec.name, "description": spec.description, "parameters": spec.parameters},
            }
            for spec in request.tools
        ]
    if request.max_output_tokens is not None:
        body[dialect.max_tokens_key] = request.max_output_tokens
    if dialect.cache_key and request.cache_key:
        body["prompt_cache_key"] = cache_key(request.cache_key)
    return body


class _History:
    def __init__(self, provider: Provider, request: ModelRequest) -> None:
        self._provider, self._request = provider, request
        self._results = {m.call.id: m for m in request.messages if isinstance(m, ToolMessage)}
        self._ids = wire_ids(request, _GOOD_ID, keep=provider.dialect.keeps_ids)

    def messages(self) -> list[Body]:
        found: list[Body] = [{"role": "system", "content": self._request.system}] if self._request.system else []
        told: list[Part] = []  # what the user says next
        for message in self._request.messages:
            match message:
                case UserMessage():
                    told.extend(message.parts)
                case AssistantMessage() if not message.calls and not message.text.strip():
                    pass  # Nothing was said.
                case AssistantMessage():
                    self._tell(found, told)
                    told = self._exchange(found, message)
                case ToolMessage():
                    pass  # Told with the reply that asked for it.
        self._tell(found, told)
        return found

    def _tell(self, found: list[Body], parts: Sequence[Part]) -> None:
        if not (content := self._content(parts)):
            return
        if found and found[-1]["role"] == "tool" and not self._provider.dialect.user_after_tools:
            found.append({"role": "assistant", "content": _READ_ON})
        found.append({"role": "user", "content": content})

    def _exchange(self, found: list[Body], message: AssistantMessage) -> list[Part]:
        """Add a reply and its results; return the images, which a tool message cannot hold."""
        extras, call_extras = given_back(message.raw, self._provider, self._request.model)
        text = message.text
        if found and found[-1]["role"] == "assistant":  # It went on without having been told anything.
            text = f"{found.pop()['content']}{text}"
        spoken: Body = {**extras, "role": "assistant", "content": text}
        if message.calls:
            if not text.strip():
                spoken["content"] = None if self._provider.dialect.null_content else ""
            padded = [*call_extras, *({} for _ in message.calls)]
            spoken["tool_calls"] = [self._call(call, more) for call, more in zip(message.calls, padded, strict=False)]
        found.append(spoken)
        results = [self._results.get(call.id) for call in message.calls]
        for call, result in zip(message.calls, results, strict=True):
            found.append({"role": "tool", "tool_call_id": self._ids[call.id], "content": told_text(result)})
        images = [part for result in results if result for part in result.parts if isinstance(part, ImagePart)]
        return [TextPart(text=IMAGES_OF), *images] if images else []

    def _call(self, call: ToolCall, extras: Body) -> Body:
        arguments = json.dumps(call.args, ensure_ascii=False)  # Of an unparsed call there are none.
        function: Body = {"name": wire_name(call.tool), "arguments": arguments}
        return {**extras, "id": self._ids[call.id], "type": "function", "function": function}

    def _content(self, parts: Sequence[Part]) -> JsonValue:
        """Return text alone as text, and with images as a list."""
        texts = [part.text for part in parts if isinstance(part, TextPart) and part.text.strip()]
        if not any(isinstance(part, ImagePart) for part in parts):
            return "\n\n".join(texts)
        return [part for part in map(self._part, parts) if part]

    def _part(self, part: Part) -> JsonValue:
        if isinstance(part, TextPart):
            return {"type": "text", "text": part.text} if part.text.strip() else None
        content = self._request.images.get(part.blob)
        if content is None:
            return {"type": "text", "text": GONE}
        url = f"data:{part.media_type};base64,{base64.b64encode(content).decode()}"
        return {"type": "image_url", "image_url": {"url": url}}
