"""Add to spans what was said: left out unless somebody asks for it, as others than the run's owner may read traces."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue

from kova_auto.core.event import CallFinished, Event, ModelReplied
from kova_auto.core.ids import CallId
from kova_auto.core.loop.walk import walk
from kova_auto.core.message import AssistantMessage, ImagePart, Message, Part, TextPart, ToolCall
from kova_auto.core.transcript.span import Span

Json = dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Input:
    """Hold what one call of a model was given."""

    system: str
    messages: tuple[Message, ...]


def add_content(spans: Iterable[Span], events: Sequence[Event], inputs: Mapping[int, Input]) -> None:
    """Add to the run what happened between its iterations, and to each call what it was given and what came of it.

    Args:
        spans: Of the run.
        events: All of its facts, oldest first.
        inputs: Of each call of a model, by the position of the fact that announces it.
    """
    walked = walk(events)
    calls, replies = walked.state.calls, _replies(events)
    results = {event.call_id: event.result for event in events if isinstance(event, CallFinished)}
    for span in spans:
        if span.kind == "run":
            moments = iter(walked.interludes)
            span.moments = [replace(moment, attributes={"kova.text": next(moments).text}) for moment in span.moments]
        if span.kind == "chat" and span.seq in inputs:
            given = inputs[span.seq]
            span.attributes["gen_ai.system_instructions"] = _written([_text(given.system)])
            span.attributes["gen_ai.input.messages"] = _written([_message(message) for message in given.messages])
            if reply := replies.get(span.seq):
                span.attributes["gen_ai.output.messages"] = _written([_output(reply)])
        if span.kind == "tool":
            call = calls[CallId(str(span.attributes["gen_ai.tool.call.id"]))].call
            span.attributes["gen_ai.tool.call.arguments"] = call.unparsed or _written(call.args)
            if call.id in results:
                span.attributes["gen_ai.tool.call.result"] = results[call.id].text


def _replies(events: Sequence[Event]) -> Mapping[int, ModelReplied]:
    """Return the replies by the position of the fact that announced their call."""
    found: dict[int, ModelReplied] = {}
    asked = 0
    for seq, event in enumerate(events, 1):
        if event.kind == "model_call_started":
            asked = seq
        elif isinstance(event, ModelReplied):
            found[asked] = event
    return found


def _output(replied: ModelReplied) -> Json:
    said = AssistantMessage(text=replied.reply.text, calls=replied.calls)
    return {**_message(said), "finish_reason": replied.reply.stop}


def _message(message: Message) -> Json:
    if isinstance(message, AssistantMessage):
        spoken = [_text(message.text)] if message.text else []
        return {"role": "assistant", "parts": [*spoken, *map(_call, message.calls)]}
    if message.role == "tool":
        answer: Json = {"type": "tool_call_response", "id": message.call.id, "response": _response(message.parts)}
        return {"role": "tool", "parts": [answer]}
    return {"role": "user", "parts": [_part(part) for part in message.parts]}


def _call(call: ToolCall) -> Json:
    arguments: JsonValue = call.args if call.unparsed is None else call.unparsed
    return {"type": "tool_call", "id": call.id, "name": call.tool, "arguments": arguments}


def _response(parts: Iterable[Part]) -> JsonValue:
    return "\n".join(part.text if isinstance(part, TextPart) else f"[{part.media_type} {part.blob}]" for part in parts)


def _part(part: Part) -> Json:
    if isinstance(part, ImagePart):
        return {"type": "file", "modality": "image", "mime_type": part.media_type, "file_id": f"sha256:{part.blob}"}
    return _text(part.text)


def _text(text: str) -> Json:
    return {"type": "text", "content": text}


def _written(value: JsonValue | list[Json]) -> str:
    return json.dumps(value, ensure_ascii=False)
