"""Give a reply's own items back to the one who wrote them, as they came.

Reasoning is signed over what followed it: it goes back with all of that, or not at all. Where it does not, the items
that followed go back without their ids, by which the provider would look for it. A message has an id of ours then: some
servers want one.
"""

from __future__ import annotations

import json
from typing import Final

from pydantic import JsonValue

from kova_auto.core.ids import CallId
from kova_auto.core.message import AssistantMessage, ToolCall
from kova_auto.core.provider import Provider
from kova_auto.llm.arguments import parse_arguments
from kova_auto.llm.history import wire_name
from kova_auto.llm.openai_responses.items import CALLS, Item, items_in, text_at

# They wait for an answer that nobody here gives; a request that holds one without it is refused.
_UNANSWERED: Final = frozenset(
    {"computer_call", "local_shell_call", "shell_call", "apply_patch_call", "mcp_approval_request"}
)


def reply_items(
    message: AssistantMessage, number: int, ids: dict[CallId, str], provider: Provider, model: str
) -> list[Item]:
    """Return what stands for a reply in the next request: its text and its calls, and its reasoning where it can.

    Args:
        message: The reply.
        number: Which message of the conversation it is.
        ids: The id of each call on the wire.
        provider: Who is asked.
        model: Which of its models is asked.
    """
    calls = list(message.calls)
    found = [_again(item, calls, ids) for item in _kept(message.raw, provider, model)]
    sent = [item for item in found if item is not None]
    if len(sent) < len(found) or (sent and sent[-1].get("type") == "reasoning"):
        sent = [_without_id(item) for item in sent if item.get("type") != "reasoning"]
    if message.text.strip() and not any(item.get("type") == "message" for item in sent):
        part: Item = {"type": "output_text", "text": message.text, "annotations": []}
        sent.insert(0, {"type": "message", "role": "assistant", "status": "completed", "content": [part]})
    named = [_with_id(item, f"msg_{number}_{place}") for place, item in enumerate(sent)]
    return [*named, *(_call(call, ids) for call in calls)]


def _kept(raw: JsonValue, provider: Provider, model: str) -> list[Item]:
    if not isinstance(raw, dict) or raw.get("provider") != provider.name or raw.get("model") != model:
        return []
    return items_in(raw.get("output"))


def _again(item: Item, calls: list[ToolCall], ids: dict[CallId, str]) -> Item | None:
    """Return an item as it goes back, its call taken out of `calls`; None where it cannot."""
    kind = item.get("type")
    if kind == "reasoning":
        return item if text_at(item, "encrypted_content") or item.get("content") else None
    if kind == "message":
        return _spoken(item)
    if kind in CALLS:
        return _same_call(item, calls, ids)
    return None if kind in _UNANSWERED else item


def _spoken(item: Item) -> Item | None:
    parts = items_in(item.get("content"))
    said = [part for part in parts if "".join((text_at(part, "text"), text_at(part, "refusal"))).strip()]
    return {**item, "content": list[JsonValue](said)} if said else None


def _same_call(item: Item, calls: list[ToolCall], ids: dict[CallId, str]) -> Item | None:
    call_id, name = text_at(item, "call_id"), text_at(item, "name")
    call = next((call for call in calls if (call.provider_id, call.tool) == (call_id, name)), None)
    if call is None:
        return None
    calls.remove(call)
    if item.get("type") == "custom_tool_call":
        return {**item, "call_id": ids[call.id]}
    written = item.get("arguments")
    is_same = isinstance(written, str) and written.strip() and parse_arguments(written) == call.args
    return {**item, **_call(call, ids), **({"arguments": written} if is_same else {})}


def _call(call: ToolCall, ids: dict[CallId, str]) -> Item:
    arguments = json.dumps(call.args, ensure_ascii=False)  # Of an unparsed call there are none.
    return {"type": "function_call", "call_id": ids[call.id], "name": wire_name(call.tool), "arguments": arguments}


def _with_id(item: Item, own: str) -> Item:
    return {"id": own, **item} if item.get("type") == "message" else item


def _without_id(item: Item) -> Item:
    return {key: value for key, value in item.items() if key != "id"}
