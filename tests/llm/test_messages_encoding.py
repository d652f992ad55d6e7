"""What is sent: a history that every server accepts."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from kova_auto.core.ids import BlobHash
from kova_auto.core.message import (
    ImagePart,
    Message,
    ModelRequest,
    ResultStatus,
    TextPart,
    ToolCall,
    ToolSpec,
    UserMessage,
)
from kova_auto.core.provider import Auth, Dialect, Provider
from kova_auto.llm.anthropic_messages.encode import GO_ON, MAX_TOKENS, encode
from kova_auto.llm.anthropic_messages.wire import AnthropicMessages
from kova_auto.llm.history import IMAGES_OF, LOST, NOTHING, SHOWN_BELOW
from tests.llm.chat_stream import KEY, PROMPT, asks, reply_with, result, tool_call
from tests.llm.messages_stream import CLAUDE

PLAIN = CLAUDE.model_copy(update={"dialect": Dialect(cache_marks=False)})
MARK = {"cache_control": {"type": "ephemeral"}}
PNG = ImagePart(blob=BlobHash("p"), media_type="image/png")
PNG_SENT: dict[str, Any] = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="},
}
GONE = ImagePart(blob=BlobHash("gone"), media_type="image/png")
READ, GREP = tool_call("1.1", provider_id="toolu_a", path="a.md"), tool_call("1.2", "grep", "toolu_b", pattern="é")


def user(*texts: str) -> UserMessage:
    return UserMessage(parts=tuple(TextPart(text=text) for text in texts))


def said(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def used(call_id: str, name: str, **args: JsonValue) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": args}


def told(call_id: str, content: JsonValue, **more: JsonValue) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def failed(call_id: str, content: str) -> dict[str, Any]:
    return told(call_id, content, is_error=True)


def sent(*messages: Message, provider: Provider = PLAIN) -> list[Any]:
    request = asks(*messages).model_copy(update={"images": {PNG.blob: b"\x89PNG", BlobHash("empty"): b""}})
    return list(json.loads(json.dumps(encode(provider, request)["messages"])))


def contents(*messages: Message, provider: Provider = PLAIN) -> list[Any]:
    return [message["content"] for message in sent(*messages, provider=provider)]


def test_a_whole_request() -> None:
    tools = tuple(ToolSpec(name=name, description=f"{name}.", parameters={"properties": {}}) for name in ("b", "a"))
    request = asks(PROMPT, tools=tools).model_copy(update={"max_output_tokens": 900})
    assert encode(CLAUDE, request) == {
        "model": "m-1",
        "max_tokens": 900,
        "system": [{"type": "text", "text": "Be brief.", **MARK}],
        "tools": [
            {"name": "b", "description": "b.", "input_schema": {"type": "object", "properties": {}}},
            {"name": "a", "description": "a.", "input_schema": {"type": "object", "properties": {}}},
        ],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Look around.", **MARK}]}],
        "stream": True,
    }


def test_a_request_holds_nothing_that_was_not_asked_for() -> None:
    assert encode(PLAIN, ModelRequest(model="m", system=" \n", messages=(PROMPT,))) == {
        "model": "m",
        "max_tokens": MAX_TOKENS,
        "messages": [{"role": "user", "content": [said("Look around.")]}],
        "stream": True,
    }


@pytest.mark.parametrize(
    ("provider", "headers"),
    [
        (CLAUDE, {"anthropic-version": "2026-10-21", "x-api-key": KEY}),
        (
            CLAUDE.model_copy(update={"api_version": "2023-06-01", "auth": Auth.BEARER}),
            {"anthropic-version": "2023-06-01", "authorization": f"Bearer {KEY}"},
        ),
        (CLAUDE.model_copy(update={"api_key": ""}), {"anthropic-version": "2026-10-21"}),
    ],
)
def test_the_version_goes_with_every_request(provider: Provider, headers: dict[str, str]) -> None:
    assert AnthropicMessages().headers(provider) == headers


def test_a_request_goes_to_the_messages_of_the_base_url() -> None:
    assert CLAUDE.url(AnthropicMessages().path) == "https://api.anthropic.com/v1/messages"


def test_the_results_of_a_reply_are_one_message_before_anything_else() -> None:
    exchange = (PROMPT, reply_with(READ, GREP, text="Hm."), result(GREP, "g"), result(READ, "r"), user("Go on.", " "))
    assert sent(*exchange) == [
        {"role": "user", "content": [said("Look around.")]},
        {
            "role": "assistant",
            "content": [said("Hm."), used("toolu_a", "read", path="a.md"), used("toolu_b", "grep", pattern="é")],
        },
        {"role": "user", "content": [told("toolu_a", "r"), told("toolu_b", "g"), said("Go on.")]},
    ]


def test_a_call_without_a_result_is_answered_as_unknown() -> None:
    exchange = (PROMPT, reply_with(READ, GREP), result(READ, "r"))
    assert contents(*exchange)[2] == [told("toolu_a", "r"), failed("toolu_b", LOST)]


def test_a_result_without_its_call_is_not_sent() -> None:
    assert contents(PROMPT, result(READ, "r")) == [[said("Look around.")]]


@pytest.mark.parametrize(
    ("status", "block"),
    [
        (ResultStatus.OK, told("toolu_a", "text")),
        (ResultStatus.ERROR, failed("toolu_a", "[error] text")),
        (ResultStatus.DENIED, failed("toolu_a", "[denied] text")),
        (ResultStatus.UNKNOWN, failed("toolu_a", "[unknown] text")),
        (ResultStatus.CANCELLED, failed("toolu_a", "[cancelled] text")),
    ],
)
def test_a_result_says_how_its_call_ended(status: ResultStatus, block: JsonValue) -> None:
    assert contents(PROMPT, reply_with(READ), result(READ, "text", status=status))[2] == [block]


@pytest.mark.parametrize("parts", [(), ("",), ("\n",)])
def test_a_result_without_text_says_so(parts: tuple[str, ...]) -> None:
    assert contents(PROMPT, reply_with(READ), result(READ, *parts))[2] == [told("toolu_a", NOTHING)]


def test_images_stand_in_the_result_that_they_belong_to() -> None:
    exchange = (PROMPT, reply_with(READ, GREP), result(READ, PNG), result(GREP, "A picture.", PNG))
    assert contents(*exchange)[2] == [told("toolu_a", [PNG_SENT]), told("toolu_b", [said("A picture."), PNG_SENT])]


def test_images_of_a_failed_call_stand_below_because_an_error_is_text_alone() -> None:
    spoken = reply_with(READ, GREP)
    exchange = (PROMPT, spoken, result(READ, PNG, status=ResultStatus.ERROR), result(GREP, "g"), user("Go on."))
    assert contents(*exchange)[2] == [
        failed("toolu_a", f"[error] {SHOWN_BELOW}"),
        told("toolu_b", "g"),
        said(IMAGES_OF),
        PNG_SENT,
        said("Go on."),
    ]


@pytest.mark.parametrize(
    ("image", "block"),
    [
        (PNG, PNG_SENT),
        (GONE, said("[an image that is no longer available]")),
        (PNG.model_copy(update={"blob": "empty"}), said("[an image that is no longer available]")),
        (PNG.model_copy(update={"media_type": "image/bmp"}), said("[an image that cannot be shown: image/bmp]")),
    ],
)
def test_an_image_is_sent_or_named(image: ImagePart, block: JsonValue) -> None:
    assert contents(UserMessage(parts=(TextPart(text="What is it?"), image))) == [[said("What is it?"), block]]


@pytest.mark.parametrize(
    "raw",
    [
        None,
        {
            "provider": "anthropic",
            "model": "m-1",
            "content": [{"type": "thinking", "thinking": "Hm.", "signature": "s"}, {"type": "text", "text": "\n"}],
        },
    ],
)
def test_a_reply_without_text_and_calls_is_not_sent_back(raw: JsonValue) -> None:
    assert sent(PROMPT, reply_with(text=" \n", raw=raw), user("Say something.")) == [
        {"role": "user", "content": [said("Look around."), said("Say something.")]}
    ]


def test_replies_in_a_row_are_one_message() -> None:
    exchange = (PROMPT, reply_with(text="I look"), reply_with(READ, text="it up."), result(READ, "r"))
    assert contents(*exchange)[1] == [said("I look"), said("it up."), used("toolu_a", "read", path="a.md")]


def test_ids_that_are_missing_repeated_or_strange_are_replaced_and_stay_paired() -> None:
    owns = ["", "same", "same", "fc|1", "a.b", "x" * 65]
    calls = [tool_call(f"{n}.1", provider_id=own) for n, own in enumerate(owns, 1)]
    blocks = contents(PROMPT, *(part for call in calls for part in (reply_with(call), result(call, "r"))))
    ids = [content[0]["id"] for content in blocks[1::2]]
    assert [content[0]["tool_use_id"] for content in blocks[2::2]] == ids
    assert ids[1] == "same"
    assert len(set(ids)) == 6
    assert all(re.fullmatch("c[0-9a-f]{8}", wire) for wire in (ids[0], *ids[2:]))


def test_a_server_that_takes_only_its_own_kind_of_ids_gets_ours() -> None:
    provider = CLAUDE.model_copy(update={"dialect": Dialect(keeps_ids=False)})
    block = contents(PROMPT, reply_with(READ), result(READ, "r"), provider=provider)[1][0]
    assert re.fullmatch("c[0-9a-f]{8}", block["id"])


@pytest.mark.parametrize(
    ("call", "name", "args"),
    [
        (tool_call("1.1", "read", unparsed='{"path": "a'), "read", {}),
        (tool_call("1.1", "re ad/é", a=1), "re_ad__", {"a": 1}),
        (tool_call("1.1", ""), "unnamed", {}),
        (tool_call("1.1", "x" * 199), "x" * 128, {}),
    ],
)
def test_what_the_model_got_wrong_is_sent_back_valid(call: ToolCall, name: str, args: JsonValue) -> None:
    block = contents(PROMPT, reply_with(call), result(call, "r"))[1][0]
    assert (block["name"], block["input"]) == (name, args)


THOUGHT: dict[str, JsonValue] = {"type": "thinking", "thinking": "Both. \n", "signature": "Eq+/="}
HIDDEN: dict[str, JsonValue] = {"type": "redacted_thinking", "data": "Em/+="}
RAW: dict[str, JsonValue] = {
    "provider": "anthropic",
    "model": "m-1",
    "content": [
        THOUGHT,
        HIDDEN,
        {"type": "text", "text": " "},
        {"type": "text", "text": "Hm.", "citations": None},
        {"type": "thinking", "thinking": "Cancelled", "signature": ""},
        {"type": "thinking", "thinking": "Unsigned"},
        {"type": "aside", "note": [1]},
        {"type": "tool_use", "id": "toolu_a", "name": "read", "input": {}, "caller": {"type": "direct"}},
        {"type": "tool_use", "id": "toolu_b", "name": "grep", "input": {}},
    ],
}


def test_what_the_model_had_written_goes_back_to_it_byte_for_byte_but_what_would_be_refused() -> None:
    exchange = (PROMPT, reply_with(READ, GREP, text="Hm.", raw=RAW), result(READ, "r"))
    assert contents(*exchange)[1] == [
        THOUGHT,
        HIDDEN,
        {"type": "text", "text": "Hm.", "citations": None},
        {"type": "aside", "note": [1]},
        {**used("toolu_a", "read", path="a.md"), "caller": {"type": "direct"}},
        used("toolu_b", "grep", pattern="é"),
    ]


@pytest.mark.parametrize(
    "raw",
    [
        {**RAW, "provider": "other"},
        {**RAW, "model": "m-2"},
        {**RAW, "content": [THOUGHT]},
        {**RAW, "content": "x"},
        {**RAW, "content": []},
        [],
        "x",
        None,
    ],
)
def test_it_goes_to_no_other_model_and_not_in_part(raw: JsonValue) -> None:
    plain = sent(PROMPT, reply_with(READ, GREP, text="Hm."), result(READ, "r"))
    assert sent(PROMPT, reply_with(READ, GREP, text="Hm.", raw=raw), result(READ, "r")) == plain


PAUSED: dict[str, JsonValue] = {
    **RAW,
    "content": [{"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}],
}


def test_a_paused_reply_goes_back_as_it_is_for_the_model_to_go_on() -> None:
    assert sent(PROMPT, reply_with(raw=PAUSED))[1:] == [{"role": "assistant", "content": PAUSED["content"]}]


def test_another_model_is_asked_to_go_on_because_it_continues_no_foreign_words() -> None:
    assert contents(PROMPT, reply_with(text="I look", raw={**PAUSED, "model": "m-2"}))[1:] == [
        [said("I look")],
        [said(GO_ON)],
    ]


def marks(*messages: Message) -> list[tuple[int, int]]:
    content = contents(*messages, provider=CLAUDE)
    return [(at, n) for at, blocks in enumerate(content) for n, block in enumerate(blocks) if "cache_control" in block]


def exchange(number: int, results: int = 1) -> list[Message]:
    calls = [tool_call(f"{number}.{n}") for n in range(results)]
    return [reply_with(*calls, text="Hm."), *(result(call, "r") for call in calls)]


def test_marks_stand_where_this_request_ends_and_where_the_ones_before_it_did() -> None:
    assert marks(PROMPT) == [(0, 0)]
    assert marks(PROMPT, *exchange(1, 30)) == [(0, 0), (2, 29)]
    assert marks(PROMPT, *exchange(1), *exchange(2, 40), *exchange(3), user("Go on.")) == [(2, 0), (4, 39), (6, 1)]


_TEXTS = st.sampled_from(["", " ", "text"])
_CALLS = st.lists(st.sampled_from(["", "a", "b", "x|y"]), max_size=3)
_RAWS = st.sampled_from([None, RAW, PAUSED])


@settings(deadline=None)
@given(st.lists(st.tuples(_TEXTS, _CALLS, _RAWS, _TEXTS, st.integers(0, 3)), max_size=5), st.sampled_from(ResultStatus))
def test_whatever_happened_the_history_is_one_that_servers_accept(
    turns: list[tuple[str, list[str], JsonValue, str, int]], status: ResultStatus
) -> None:
    messages: list[Message] = [PROMPT]
    for number, (text, ids, raw, notice, answered) in enumerate(turns):
        calls = [tool_call(f"{number}.{index}", provider_id=own) for index, own in enumerate(ids)]
        results = [result(call, " ", PNG, status=status) for call in calls[:answered]]
        messages += [reply_with(*calls, text=text, raw=raw), *results, user(notice)]
    history = sent(*messages, provider=CLAUDE)
    open_calls: list[str] = []
    seen: set[str] = set()
    for number, message in enumerate(history):
        assert message["role"] == ("assistant" if number % 2 else "user")
        kinds = [block["type"] for block in message["content"]]
        answers = [block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"]
        assert kinds[: len(answers)] == ["tool_result"] * len(answers)
        assert answers == open_calls
        open_calls = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
        assert not seen & set(open_calls)
        assert all(re.fullmatch("[a-zA-Z0-9_-]{1,64}", own) for own in open_calls)
        seen |= set(open_calls)
        assert kinds
        assert all(block.get("text", "x").strip() and block.get("content", "x") for block in message["content"])
    assert not open_calls
    assert json.dumps(history).count("cache_control") <= 3
