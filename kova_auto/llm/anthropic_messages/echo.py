"""Keep a reply in its provider's own form, where ours does not say all of it, and give it back to the same model.

Thinking goes back byte for byte, with its signature, or not at all. What a call was asked with is in our form, and is
put in again from there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from pydantic import JsonValue

from kova_auto.core.message import CallRequest
from kova_auto.core.provider import Provider
from kova_auto.llm.anthropic_messages.blocks import Body, text_of
from kova_auto.llm.arguments import is_storable

THOUGHTS: Final = frozenset({"thinking", "redacted_thinking"})


def plain_form(text: str, calls: Sequence[CallRequest]) -> list[Body]:
    """Return the blocks that our form of a reply amounts to, calls without their arguments."""
    spoken: list[Body] = [{"type": "text", "text": text}] if text.strip() else []
    return spoken + [{"type": "tool_use", "id": call.provider_id, "name": call.tool, "input": {}} for call in calls]


def kept_form(provider: Provider, model: str, blocks: Sequence[Body | None], known: list[Body]) -> JsonValue:
    """Return what is kept of a reply; None where its blocks are not all there, or cannot be stored as they are.

    Args:
        provider: Who wrote it.
        model: Which of its models.
        blocks: None for each that is not all there.
        known: What our own form of it says; no more than that is not kept twice.
    """
    whole = [block for block in blocks if block is not None]
    content = sendable(whole)
    form: JsonValue = {"provider": provider.name, "model": model, "content": list[JsonValue](content)}
    return form if content != known and len(whole) == len(blocks) and is_storable(form) else None


def given_back(raw: JsonValue, provider: Provider, model: str, calls: int) -> list[Body] | None:
    """Return the kept blocks, for the one who wrote them; None where there are none.

    Args:
        raw: What was kept.
        provider: Who is asked.
        model: Which of its models.
        calls: How many calls the reply made.
    """
    if not isinstance(raw, dict) or raw.get("provider") != provider.name or raw.get("model") != model:
        return None
    content = raw.get("content")
    blocks = sendable(block for block in content if isinstance(block, dict)) if isinstance(content, list) else []
    return blocks if blocks and calls == sum(block.get("type") == "tool_use" for block in blocks) else None


def sendable(blocks: Iterable[Body]) -> list[Body]:
    """Return the blocks that no server refuses: blank text is one, and thinking that was never signed."""
    return [block for block in blocks if _is_sendable(block)]


def _is_sendable(block: Body) -> bool:
    match block.get("type"):
        case "text":
            return bool(text_of(block, "text").strip())
        case "thinking":
            return bool(text_of(block, "signature").strip())
        case _:
            return True
