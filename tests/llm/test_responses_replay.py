"""What a model said goes back to it as it came, and to nobody else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import JsonValue

from kova_auto.core.ids import CallId
from kova_auto.core.message import AssistantMessage, Message, ModelReply, ResultStatus, ToolCall
from kova_auto.core.provider import Provider
from kova_auto.llm.openai_responses.encode import encode
from tests.llm.chat_stream import PROVIDER, asks, reply_with, result, tool_call
from tests.llm.responses_stream import (
    Json,
    function_call,
    message,
    read,
    reasoning,
    refused_part,
    said,
    whole,
)

CALL = tool_call("1.1", provider_id="call_1", path="a")
SECOND = tool_call("1.2", "glob", "call_2", path="b")
THOUGHT = reasoning("**Look**", "gAAAAé🚀==")
WRITTEN = function_call('{"path":  "a"}')
WRITTEN_AGAIN = function_call('{"path": "b"}', "glob", 2)
PLAIN = {"type": "function_call", "call_id": "call_1", "name": "read", "arguments": '{"path": "a"}'}


def raw(*output: Json, provider: str = "acme", model: str = "m-1") -> Json:
    return {"provider": provider, "model": model, "output": [*output]}


def sent(*messages: Message, provider: Provider = PROVIDER) -> list[Any]:
    return list(json.loads(json.dumps(encode(provider, asks(*messages))["input"])))


def sent_reply(*calls: ToolCall, text: str = "", kept: JsonValue = None) -> list[Any]:
    """What stands for a reply, its outputs cut off."""
    spoken = reply_with(*calls, text=text, raw=kept)
    items = sent(spoken, *(result(call, "r") for call in calls))
    return items[: len(items) - len(calls)]


def in_run(reply: ModelReply) -> AssistantMessage:
    calls = tuple(ToolCall(id=CallId(f"1.{n}"), **request.model_dump()) for n, request in enumerate(reply.calls))
    return AssistantMessage(text=reply.text, calls=calls, raw=json.loads(reply.model_dump_json())["raw"])


def test_a_reply_that_was_read_goes_back_byte_for_byte() -> None:
    items: list[Json] = [
        THOUGHT,
        message(said("Hm."), phase="commentary"),
        WRITTEN,
        reasoning("", "gBBBB", 2),
        WRITTEN_AGAIN,
        {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "q"}},
    ]
    assert sent(in_run(read(*whole(*items))))[:-2] == items


def test_each_call_of_a_replayed_reply_has_its_output_after_all_of_it() -> None:
    items = sent(
        reply_with(CALL, SECOND, raw=raw(THOUGHT, WRITTEN, WRITTEN_AGAIN)),
        result(SECOND, "two"),
        result(CALL, "one", status=ResultStatus.ERROR),
    )
    assert items[3:] == [
        {"type": "function_call_output", "call_id": "call_1", "output": "[error] one"},
        {"type": "function_call_output", "call_id": "call_2", "output": "two"},
    ]


@pytest.mark.parametrize(
    "kept",
    [
        raw(THOUGHT, WRITTEN, provider="other"),
        raw(THOUGHT, WRITTEN, model="m-2"),
        {"provider": "acme", "model": "m-1", "message": {"reasoning_content": "x"}},
        {"provider": "acme", "model": "m-1", "output": "x"},
        {"provider": "acme", "model": "m-1", "output": [None, 7]},
        [THOUGHT],
        "x",
        None,
    ],
)
def test_another_model_gets_the_plain_form(kept: JsonValue) -> None:
    assert sent_reply(CALL, kept=kept) == [PLAIN]


@pytest.mark.parametrize(
    "output",
    [
        (reasoning(encrypted=None), WRITTEN),
        (reasoning(encrypted=""), WRITTEN),
        (THOUGHT, reasoning("only a summary", None, 2), WRITTEN),
        (THOUGHT, message(said(" ")), WRITTEN),
        (THOUGHT, WRITTEN, reasoning("", "gCCCC", 2)),
        (THOUGHT, WRITTEN, function_call("{}", "gone", 7)),
        (THOUGHT, {"type": "computer_call", "id": "cu_1", "call_id": "call_9", "action": {}}, WRITTEN),
    ],
)
def test_reasoning_goes_back_with_all_that_followed_or_not_at_all(output: tuple[Json, ...]) -> None:
    without_id = {key: value for key, value in WRITTEN.items() if key != "id"}
    assert sent_reply(CALL, kept=raw(*output)) == [without_id]


def test_a_message_whose_reasoning_is_left_out_gets_another_id() -> None:
    spoken = message(said("Hm."))
    assert sent_reply(text="Hm.", kept=raw(reasoning(encrypted=None), spoken)) == [{**spoken, "id": "msg_0_0"}]


def test_reasoning_in_the_open_goes_back_too() -> None:
    thought = reasoning(encrypted="", content=[{"type": "reasoning_text", "text": "Hm."}])
    assert sent_reply(CALL, kept=raw(thought, WRITTEN)) == [thought, WRITTEN]


def test_a_reply_of_reasoning_alone_is_not_sent_back() -> None:
    assert sent_reply(kept=raw(THOUGHT)) == []


def test_what_was_executed_counts_where_the_kept_form_says_something_else() -> None:
    assert sent_reply(CALL, kept=raw(THOUGHT, function_call('{"path": "z"}'))) == [
        THOUGHT,
        {**WRITTEN, "arguments": '{"path": "a"}'},
    ]


@pytest.mark.parametrize("arguments", ["", '{"path": "a', None, {"path": "a"}])
def test_arguments_that_are_none_go_back_as_valid_ones(arguments: JsonValue) -> None:
    call = tool_call("1.1", provider_id="call_1", unparsed="what came")
    assert sent_reply(call, kept=raw(function_call(arguments))) == [{**WRITTEN, "arguments": "{}"}]


def test_an_id_that_cannot_be_kept_is_replaced_in_the_kept_form_too() -> None:
    call = tool_call("1.1", provider_id="call|1", path="a")
    call_sent, output = sent(
        reply_with(call, raw=raw({**WRITTEN, "call_id": "call|1"})),
        result(call, "r"),
    )
    assert call_sent["call_id"] == output["call_id"] != "call|1"


def test_two_calls_under_one_id_are_told_apart() -> None:
    first, again = tool_call("1.1", provider_id="call_1", path="a"), tool_call("1.2", provider_id="call_1", path="b")
    other = {**WRITTEN_AGAIN, "name": "read", "call_id": "call_1"}
    items = sent(reply_with(first, again, raw=raw(WRITTEN, other)), result(first, "one"), result(again, "two"))
    assert [item["call_id"] for item in items[:2]] == [item["call_id"] for item in items[2:]]
    assert [item["output"] for item in items[2:]] == ["one", "two"]
    assert items[0]["call_id"] != items[1]["call_id"]


def test_calls_and_text_that_the_kept_form_lacks_are_added() -> None:
    items = sent_reply(CALL, SECOND, text="Hm.", kept=raw(THOUGHT, WRITTEN))
    assert [item.get("name", item["type"]) for item in items] == ["message", "reasoning", "read", "glob"]


def test_a_refusal_goes_back_as_one_and_empty_parts_do_not() -> None:
    spoken = message(said(""), refused_part("No."), said("Sorry."))
    assert sent_reply(text="Sorry.", kept=raw(spoken)) == [{**spoken, "content": [refused_part("No."), said("Sorry.")]}]


def test_a_call_of_a_custom_tool_gets_an_output_of_its_kind() -> None:
    item: Json = {"id": "ctc_1", "type": "custom_tool_call", "call_id": "call_1", "name": "read", "input": "free text"}
    call = tool_call("1.1", provider_id="call_1", unparsed="free text")
    assert sent(reply_with(call, raw=raw(item)), result(call, "no", status=ResultStatus.ERROR)) == [
        item,
        {"type": "custom_tool_call_output", "call_id": "call_1", "output": "[error] no"},
    ]
