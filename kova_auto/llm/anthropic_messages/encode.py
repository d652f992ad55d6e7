"""Write a request as Messages wants it: a history that every server accepts, whatever it holds; pure.

Roles alternate; the results of all calls of a reply are one user message, before anything else that it says; no block
is blank; nothing is sent that a newer version of the protocol refuses, as a temperature.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from kova_auto.core.message import (
    AssistantMessage,
    ImagePart,
    ModelRequest,
    Part,
    ResultStatus,
    TextPart,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from kova_auto.core.provider import Provider
from kova_auto.llm.anthropic_messages.blocks import Body
from kova_auto.llm.anthropic_messages.echo import THOUGHTS, given_back, plain_form
from kova_auto.llm.history import GONE, IMAGES_OF, SHOWN_BELOW, told_text, wire_ids, wire_name

MAX_TOKENS: Final = 32_000
"""Of a reply that nobody bounded: what each model takes that is served today, and a long file fits in."""

GO_ON: Final = "Go on."
ROLLING: Final = 3
"""Cache marks besides the system prompt's; with more than four in all a request is refused."""

_MARK: Final[Body] = {"cache_control": {"type": "ephemeral"}}
_LONGEST_NAME: Final = 128
_GOOD_ID: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_SEEN: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})


def encode(provider: Provider, request: ModelRequest) -> Body:
    """Return the body of a streaming request."""
    turns = _History(provider, request).turns()
    body: Body = {"model": request.model, "max_tokens": request.max_output_tokens or MAX_TOKENS}
    marks = provider.dialect.cache_marks
    if request.system.strip():
        body["system"] = [{"type": "text", "text": request.system, **_MARK}] if marks else request.system
    if request.tools:
        body["tools"] = [_tool(spec) for spec in request.tools]
    if marks:
        _mark(turns)
    body["messages"] = [turn.body() for turn in turns]
    body["stream"] = True
    return body


def _tool(spec: ToolSpec) -> Body:
    return {"name": spec.name, "description": spec.description, "input_schema": {"type": "object", **spec.parameters}}


@dataclass(frozen=True, slots=True)
class _Turn:
    """Hold one message."""

    role: str
    content: list[Body]

    def body(self) -> Body:
        return {"role": self.role, "content": list[JsonValue](self.content)}


def _mark(turns: Sequence[_Turn]) -> None:
    """Mark the ends of the last user messages.

    The requests before this one ended there, so what they had cached is found again however much was said since.
    """
    for turn in [turn for turn in turns if turn.role == "user"][-ROLLING:]:
        turn.content[-1] = turn.content[-1] | _MARK


class _History:
    def __init__(self, provider: Provider, request: ModelRequest) -> None:
        self._provider, self._request = provider, request
        self._results = {m.call.id: m for m in request.messages if isinstance(m, ToolMessage)}
        self._ids = wire_ids(request, _GOOD_ID, keep=provider.dialect.keeps_ids)

    def turns(self) -> list[_Turn]:
        found: list[_Turn] = []
        told: list[Body] = []  # what the user says next
        can_go_on = True
        for message in self._request.messages:
            match message:
                case UserMessage():
                    told += self._parts(message.parts)
                case AssistantMessage():
                    kept = given_back(message.raw, self._provider, self._request.model, len(message.calls))
                    if spoken := self._spoken(message, kept):
                        _say(found, "user", told)
                        _say(found, "assistant", spoken)
                        told, can_go_on = self._results_of(message.calls), kept is not None
                case ToolMessage():
                    pass  # Told with the reply that asked for it.
        if not told and not can_go_on:
            told = [_text(GO_ON)]  # Models go on with their own words alone.
        _say(found, "user", told)
        return found

    def _spoken(self, message: AssistantMessage, kept: list[Body] | None) -> list[Body]:
        """Return the blocks of a reply; none where nothing was said but thoughts."""
        blocks = plain_form(message.text, message.calls) if kept is None else kept
        if all(block.get("type") in THOUGHTS for block in blocks):
            return []
        calls = iter(message.calls)
        return [self._call(block, next(calls)) if block.get("type") == "tool_use" else block for block in blocks]

    def _call(self, block: Body, call: ToolCall) -> Body:
        name = wire_name(call.tool, _LONGEST_NAME)
        return {**block, "id": self._ids[call.id], "name": name, "input": call.args}  # Unparsed, it has no arguments.

    def _results_of(self, calls: Sequence[ToolCall]) -> list[Body]:
        """Return one result for each call, then the images that none of them may hold."""
        told: list[Body] = []
        below: list[Body] = []
        for call in calls:
            result = self._results.get(call.id)
            is_ok = result is not None and result.status is ResultStatus.OK
            images = [self._image(part) for part in (result.parts if result else ()) if isinstance(part, ImagePart)]
            text = told_text(result, image_alone="" if is_ok else SHOWN_BELOW)
            block: Body = {"type": "tool_result", "tool_use_id": self._ids[call.id], "content": text}
            if not is_ok:  # Then only text is taken.
                block["is_error"] = True
                below += images
            elif images:
                block["content"] = [*([_text(text)] if text else []), *images]
            told.append(block)
        return [*told, _text(IMAGES_OF), *below] if below else told

    def _parts(self, parts: Sequence[Part]) -> list[Body]:
        return [
            _text(part.text) if isinstance(part, TextPart) else self._image(part)
            for part in parts
            if isinstance(part, ImagePart) or part.text.strip()
        ]

    def _image(self, part: ImagePart) -> Body:
        content = self._request.images.get(part.blob)
        if not content:
            return _text(GONE)
        if part.media_type not in _SEEN:
            return _text(f"[an image that cannot be shown: {part.media_type}]")
        data = base64.b64encode(content).decode()
        return {"type": "image", "source": {"type": "base64", "media_type": part.media_type, "data": data}}


def _say(found: list[_Turn], role: str, blocks: list[Body]) -> None:
    if found and found[-1].role == role:
        found[-1].content.extend(blocks)
    elif blocks:
        found.append(_Turn(role, blocks))


def _text(text: str) -> Body:
    return {"type": "text", "text": text}
