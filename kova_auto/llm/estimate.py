"""Estimate tokens where a server never says them: without that, a run there would have no ceiling in tokens at all."""

from __future__ import annotations

from kova_auto.core.estimate import CHARS, IMAGE, PER_MESSAGE
from kova_auto.core.message import AssistantMessage, ImagePart, ModelRequest, TextPart, Usage


def estimated(request: ModelRequest, written: int) -> Usage:
    """Return roughly what a call has used.

    Args:
        request: What was asked.
        written: Characters that the model wrote, reasoning and arguments included.
    """
    return Usage(input_tokens=estimate(request), output_tokens=-(-written // CHARS))


def at_least(said: Usage | None, request: ModelRequest, written: int) -> Usage | None:
    """Return what a call has used whose last count never came; None where nothing came at all.

    Args:
        said: What the provider has counted until then.
        request: What was asked.
        written: As of `estimated`.
    """
    if not written:
        return said
    rough = estimated(request, written)
    if said is None:
        return rough
    return said.model_copy(update={"output_tokens": max(said.output_tokens, rough.output_tokens)})


def estimate(request: ModelRequest) -> int:
    """Return roughly how many tokens a request is."""
    chars, images = len(request.system), 0
    chars += sum(len(spec.json_text) for spec in request.tools)
    for message in request.messages:
        if isinstance(message, AssistantMessage):
            chars += len(message.text) + sum(
                len(call.model_dump_json(include={"tool", "args"})) for call in message.calls
            )
            continue
        chars += sum(len(part.text) for part in message.parts if isinstance(part, TextPart))
        images += sum(isinstance(part, ImagePart) for part in message.parts)
    return -(-chars // CHARS) + images * IMAGE + PER_MESSAGE * len(request.messages)
