"""What a provider refuses in a request, and the request that is made instead."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import JsonValue

from kova_auto.core.message import ToolSpec
from kova_auto.llm.anthropic_messages.wire import AnthropicMessages
from kova_auto.llm.faults import Problem, problem_in
from tests.llm.chat_stream import PROMPT, asks, reply_with, result, tool_call
from tests.llm.messages_stream import CLAUDE

THOUGHT: dict[str, JsonValue] = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
TEXT: dict[str, JsonValue] = {"type": "text", "text": "I read."}
USE: dict[str, JsonValue] = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}}
RAW: JsonValue = {"provider": "anthropic", "model": "m-1", "content": [THOUGHT, TEXT, USE]}
CALL = tool_call("1.1", provider_id="toolu_1", cache_control="mine")
WIRE = AnthropicMessages()


def body(**extra: JsonValue) -> dict[str, Any]:
    exchange = (PROMPT, reply_with(CALL, text="I read.", raw=RAW), result(CALL, "r"))
    tool = ToolSpec(name="read", description="Read.", parameters={})
    encoded = WIRE.encode(CLAUDE, asks(*exchange, tools=(tool,)))
    return {**json.loads(json.dumps(encoded)), **extra}


def refusal(message: str, **fields: JsonValue) -> Problem:
    problem = problem_in({"type": "error", "error": {"type": "invalid_request_error", "message": message, **fields}})
    assert problem is not None
    return problem


def without(message: str, **extra: JsonValue) -> dict[str, Any] | None:
    return WIRE.without(body(**extra), refusal(message))


@pytest.mark.parametrize(
    "message",
    [
        "system.0.cache_control: Extra inputs are not permitted",
        "messages.2.content.0.tool_result.cache_control: Extra inputs are not permitted",
        "system: Input should be a valid string",
        '[{"loc": ["body", "system"], "msg": "str type expected"}]',
    ],
)
def test_marks_that_a_server_does_not_take_are_left_out_and_nothing_else(message: str) -> None:
    changed = without(message)
    assert changed is not None
    assert changed == {
        **body(),
        "system": "Be brief.",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Look around."}]},
            {"role": "assistant", "content": [THOUGHT, TEXT, {**USE, "input": {"cache_control": "mine"}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "r"}]},
        ],
    }
    assert WIRE.without(changed, refusal(message)) is None


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("temperature: Extra inputs are not permitted", "temperature"),
        ("`temperature` is deprecated for this model", "temperature"),
        ("output_config.effort: not supported by this model", "output_config"),
        ("adaptive thinking is not supported on this model", "thinking"),
        ("unknown field: metadata", "metadata"),
        ("messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`", "thinking"),
    ],
)
def test_a_field_that_is_refused_by_its_name_is_left_out(message: str, name: str) -> None:
    extra: dict[str, JsonValue] = {"temperature": 1, "output_config": {}, "thinking": {}, "metadata": {}}
    assert without(message, **extra) == {key: value for key, value in body(**extra).items() if key != name}


def test_a_field_that_is_named_apart_from_the_message_is_left_out() -> None:
    problem = refusal("Unsupported parameter", param="temperature")
    assert WIRE.without(body(temperature=1), problem) == body()


@pytest.mark.parametrize(
    ("message", "most"),
    [
        ("max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for m-1", 8192),
        ("Invalid max_tokens value, the valid range of max_tokens is [1, 4096]", 4096),
    ],
)
def test_a_limit_that_is_too_high_becomes_the_highest(message: str, most: int) -> None:
    assert without(message) == body(max_tokens=most)
    assert without(message, max_tokens=most) is None


@pytest.mark.parametrize(
    "message",
    [
        "messages.1.content.0: Invalid `signature` in `thinking` block",
        "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest message cannot be modified",
    ],
)
def test_thoughts_that_are_not_taken_back_are_left_out(message: str) -> None:
    changed = without(message)
    assert changed is not None
    assert [[block["type"] for block in sent["content"]] for sent in changed["messages"]] == [
        ["text"],
        ["text", "tool_use"],
        ["tool_result"],
    ]
    assert WIRE.without(changed, refusal(message)) is None


@pytest.mark.parametrize(
    "message",
    [
        "",
        "Bad request",
        "tools.0.custom.input_schema: JSON schema is invalid",
        "tools: Extra inputs are not permitted",
        "messages: unexpected role",
        "model: m-1 is not supported",
        "thinking.budget_tokens: Input should be greater than or equal to 1024",
        "stream: not supported",
    ],
)
def test_what_makes_the_request_what_it_is_stays(message: str) -> None:
    assert without(message, thinking={"type": "enabled"}) is None
