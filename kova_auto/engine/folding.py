"""The request for a summary of older iterations; pure, and the same on every worker.

It begins as the requests before it did, so that a provider's cache serves it, unless there is no room for all of that.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Final

from pydantic import JsonValue

from kova_auto.core.context.compaction import LONG_RESULT
from kova_auto.core.context.shorten import without_middle
from kova_auto.core.context.summing import instruction
from kova_auto.core.errors import IllegalEventError
from kova_auto.core.ids import BlobHash
from kova_auto.core.message import (
    AssistantMessage,
    Message,
    ModelRequest,
    Part,
    TextPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from kova_auto.core.run import RunState
from kova_auto.core.steps import Compact
from kova_auto.engine.conversation import exchange

NO_IMAGE: Final = "[an image is not shown again]"


def summary_request(state: RunState, step: Compact, images: dict[BlobHash, bytes]) -> ModelRequest:
    """Return the request for a summary.

    Args:
        state: Of the run.
        step: Says who is asked, and what is shown.
        images: Content of the image blobs that `folded` points to.

    Raises:
        IllegalEventError: The context is not assembled yet.
    """
    if state.context is None:
        msg = f"run {state.run_id} has no context yet"
        raise IllegalEventError(msg)
    _, _, model = step.model.partition("/")
    asks = UserMessage(parts=(TextPart(text=instruction(state, step)),))
    return ModelRequest(
        model=model,
        system=state.context.system,
        messages=(*folded(state, step), asks),
        tools=state.context.tools,
        max_output_tokens=step.max_output_tokens,
        cache_key=state.job.name,
        images=images,
    )


def folded(state: RunState, step: Compact) -> tuple[Message, ...]:
    """Return what is folded, with what stands before it in every request, and as far as there is room for it."""
    context = state.context
    if context is None:
        return ()
    prompt = UserMessage(parts=context.prompt)
    replies = [reply for reply in state.shown if step.shown_from <= reply.iteration <= step.through]
    said = chain.from_iterable(exchange(state, reply) for reply in replies)
    exchanges = map(_cut, said) if step.trimmed else said
    if state.compactions:
        return (prompt, UserMessage(parts=(TextPart(text=state.compactions[-1].summary),)), *exchanges)
    history = () if step.shown_from else context.history
    return (*(map(_cut, history) if step.trimmed else history), prompt, *exchanges)


def _cut(message: Message) -> Message:
    """Return a message without what is long in it; a reply loses its provider's own form, which holds all of it."""
    match message:
        case AssistantMessage():
            calls = tuple(_shorter(call) for call in message.calls)
            return message.model_copy(update={"calls": calls, "raw": None})
        case ToolMessage():
            return message.model_copy(update={"call": _shorter(message.call), "parts": tuple(_parts(message.parts))})
        case UserMessage():
            return message


def _parts(parts: tuple[Part, ...]) -> Iterator[Part]:
    for part in parts:
        text = part.text if isinstance(part, TextPart) else NO_IMAGE
        yield TextPart(text=without_middle(text, LONG_RESULT))


def _shorter(call: ToolCall) -> ToolCall:
    args = {name: _short(value) for name, value in call.args.items()}
    return call if args == call.args else call.model_copy(update={"args": args})


def _short(value: JsonValue) -> JsonValue:
    return without_middle(value, LONG_RESULT) if isinstance(value, str) else value
