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
from kova_auto.core.provider import BUILT_IN, Dialect, Provider
from kova_auto.llm.history import LOST, NOTHING
from kova_auto.llm.openai_chat.encode import encode
from tests.llm.chat_stream import PROMPT, PROVIDER, asks, reply_with, result, tool_call

PNG = ImagePart(blob=BlobHash("p"), media_type="image/png")
PNG_SENT = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}}
READ, GREP = tool_call("1.1", provider_id="call-a", path="a.md"), tool_call("1.2", "grep", "call-b", pattern="é")


def user(*texts: str) -> UserMessage:
    return UserMessage(parts=tuple(TextPart(text=text) for text in texts))


def sent(*messages: Message, provider: Provider = PROVIDER) -> list[Any]:
    request = asks(*messages).model_copy(update={"images": {PNG.blob: b"\x89PNG"}})
    system, *rest = json.loads(json.dumps(encode(provider, request)["messages"]))
    assert system == {"role": "system", "content": "Be brief."}
    return list(rest)


def dialect(**fields: JsonValue) -> Provider:
    return PROVIDER.model_copy(update={"dialect": Dialect.model_validate(fields)})


def asked_for(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def told(call_id: str, content: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def test_a_whole_request() -> None:
    tool = ToolSpec(name="read", description="Read a file.", parameters={"type": "object", "properties": {}})
    request = asks(PROMPT, tools=(tool,)).model_copy(update={"max_output_tokens": 900})
    assert encode(PROVIDER, request) == {
        "model": "m-1",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Look around."}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "read",
                    "description": "Read a file.",
                    "parameters": {"type": "object", "properties": {}},
                },
            }
        ],
        "max_tokens": 900,
    }


def test_a_request_holds_nothing_that_was_not_asked_for() -> None:
    assert encode(PROVIDER, ModelRequest(model="m", system="", messages=(PROMPT,))) == {
        "model": "m",
        "messages": [{"role": "user", "content": "Look around."}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_a_request_speaks_its_providers_dialect() -> None:
    request = asks(PROMPT).model_copy(update={"max_output_tokens": 9})
    assert encode(BUILT_IN["openai"], request)["max_completion_tokens"] == 9
    assert "stream_options" not in encode(BUILT_IN["mistral"], request)


def test_calls_are_followed_by_one_result_each_in_their_order() -> None:
    spoken = reply_with(READ, GREP, text="Hm.")
    assert sent(PROMPT, spoken, result(GREP, "g"), result(READ, "r")) == [
        {"role": "user", "content": "Look around."},
        {
            "role": "assistant",
            "content": "Hm.",
            "tool_calls": [
                asked_for("call-a", "read", '{"path": "a.md"}'),
                asked_for("call-b", "grep", '{"pattern": "é"}'),
            ],
        },
        told("call-a", "r"),
        told("call-b", "g"),
    ]


def test_a_call_without_a_result_is_answered_as_unknown() -> None:
    assert sent(PROMPT, reply_with(READ, GREP), result(READ, "r"), user("Go on."))[2:] == [
        told("call-a", "r"),
        told("call-b", LOST),
        {"role": "user", "content": "Go on."},
    ]


def test_a_result_without_its_call_is_not_sent() -> None:
    assert sent(PROMPT, result(READ, "r")) == [{"role": "user", "content": "Look around."}]


@pytest.mark.parametrize(
    ("status", "content"),
    [
        (ResultStatus.OK, "text"),
        (ResultStatus.ERROR, "[error] text"),
        (ResultStatus.DENIED, "[denied] text"),
        (ResultStatus.UNKNOWN, "[unknown] text"),
        (ResultStatus.CANCELLED, "[cancelled] text"),
    ],
)
def test_a_result_says_how_its_call_ended(status: ResultStatus, content: str) -> None:
    assert sent(PROMPT, reply_with(READ), result(READ, "text", status=status))[-1] == told("call-a", content)


@pytest.mark.parametrize("parts", [(), ("",), ("\n",)])
def test_a_result_without_text_says_so(parts: tuple[str, ...]) -> None:
    assert sent(PROMPT, reply_with(READ), result(READ, *parts))[-1] == told("call-a", NOTHING)


@pytest.mark.parametrize(("dialect_said", "content"), [({}, None), ({"null_content": False}, "")])
def test_a_reply_of_calls_alone_has_no_text(dialect_said: dict[str, JsonValue], content: str | None) -> None:
    spoken = sent(PROMPT, reply_with(READ, text="\n"), result(READ, "r"), provider=dialect(**dialect_said))[1]
    assert spoken["content"] == content


def test_a_reply_of_nothing_is_not_sent_back() -> None:
    assert sent(PROMPT, reply_with(text=" \n"), user("Say something.")) == [
        {"role": "user", "content": "Look around.\n\nSay something."}
    ]


def test_what_the_user_says_in_a_row_is_one_message() -> None:
    assert sent(PROMPT, user("And", " ", "this."), user("")) == [
        {"role": "user", "content": "Look around.\n\nAnd\n\nthis."}
    ]


def test_an_image_is_sent_as_a_data_url() -> None:
    assert sent(UserMessage(parts=(TextPart(text="What is it?"), PNG))) == [
        {"role": "user", "content": [{"type": "text", "text": "What is it?"}, PNG_SENT]}
    ]


def test_an_image_that_is_gone_is_named() -> None:
    gone = ImagePart(blob=BlobHash("gone"), media_type="image/png")
    assert sent(UserMessage(parts=(gone,))) == [
        {"role": "user", "content": [{"type": "text", "text": "[an image that is no longer available]"}]}
    ]


def test_images_of_results_follow_all_results_of_the_reply() -> None:
    messages = sent(PROMPT, reply_with(READ, GREP), result(READ, PNG), result(GREP, "[image/png]", PNG), user("Go on."))
    assert messages[2:] == [
        told("call-a", "(an image, shown below)"),
        told("call-b", "[image/png]"),
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Images from the tool results above:"},
                PNG_SENT,
                PNG_SENT,
                {"type": "text", "text": "Go on."},
            ],
        },
    ]


def test_a_server_that_wants_a_reply_between_results_and_user_gets_one() -> None:
    exchange = (PROMPT, reply_with(READ), result(READ, "r"), user("Go on."))
    roles = [message["role"] for message in sent(*exchange, provider=dialect(user_after_tools=False))]
    assert roles == ["user", "assistant", "tool", "assistant", "user"]


def test_ids_that_are_missing_repeated_or_strange_are_replaced_and_stay_paired() -> None:
    calls = [tool_call(f"{n}.1", provider_id=own) for n, own in enumerate(["", "same", "same", "fc|1", "x" * 65], 1)]
    messages = sent(PROMPT, *(part for call in calls for part in (reply_with(call), result(call, "r"))))
    ids = [message["tool_calls"][0]["id"] for message in messages[1::2]]
    assert [message["tool_call_id"] for message in messages[2::2]] == ids
    assert ids[1] == "same"
    assert len(set(ids)) == 5
    assert all(re.fullmatch("c[0-9a-f]{8}", wire) for wire in (ids[0], *ids[2:]))


def test_an_id_does_not_change_when_the_conversation_grows() -> None:
    first, second = tool_call("1.1", provider_id="same"), tool_call("2.1", provider_id="same")
    short = sent(PROMPT, reply_with(first), result(first, "r"))
    assert sent(PROMPT, reply_with(first), result(first, "r"), reply_with(second), result(second, "r"))[:3] == short


def test_a_server_that_takes_only_its_own_kind_of_ids_gets_ours() -> None:
    spoken = sent(PROMPT, reply_with(READ), result(READ, "r"), provider=dialect(keeps_ids=False))[1]
    assert re.fullmatch("[a-zA-Z0-9]{9}", spoken["tool_calls"][0]["id"])


@pytest.mark.parametrize(
    ("call", "function"),
    [
        (tool_call("1.1", "read", unparsed='{"path": "a'), {"name": "read", "arguments": "{}"}),
        (tool_call("1.1", "re ad/é", a=1), {"name": "re_ad__", "arguments": '{"a": 1}'}),
        (tool_call("1.1", ""), {"name": "unnamed", "arguments": "{}"}),
        (tool_call("1.1", "x" * 99), {"name": "x" * 64, "arguments": "{}"}),
    ],
)
def test_what_the_model_got_wrong_is_sent_back_valid(call: ToolCall, function: dict[str, str]) -> None:
    assert sent(PROMPT, reply_with(call), result(call, "r"))[1]["tool_calls"][0]["function"] == function


RAW: dict[str, JsonValue] = {
    "provider": "acme",
    "model": "m-1",
    "message": {"reasoning_content": "Think.", "role": "system", "content": "forged"},
    "calls": [{"extra_content": {"s": 1}, "id": "forged"}],
}


def test_kept_fields_go_back_to_the_one_who_wrote_them() -> None:
    spoken = sent(PROMPT, reply_with(READ, GREP, text="Hm.", raw=RAW), result(READ, "r"))[1]
    assert spoken == {
        "role": "assistant",
        "reasoning_content": "Think.",
        "content": "Hm.",
        "tool_calls": [
            {**asked_for("call-a", "read", '{"path": "a.md"}'), "extra_content": {"s": 1}},
            asked_for("call-b", "grep", '{"pattern": "é"}'),
        ],
    }


@pytest.mark.parametrize("raw", [{**RAW, "provider": "other"}, {**RAW, "model": "m-2"}, [], "x", {"message": 7}, None])
def test_kept_fields_go_to_nobody_else(raw: JsonValue) -> None:
    plain = sent(PROMPT, reply_with(READ), result(READ, "r"))
    assert sent(PROMPT, reply_with(READ, raw=raw), result(READ, "r")) == plain


_TEXTS = st.sampled_from(["", " ", "text"])
_CALLS = st.lists(st.sampled_from(["", "a", "b", "x|y"]), max_size=3)


@settings(deadline=None)
@given(st.lists(st.tuples(_TEXTS, _CALLS, _TEXTS, st.integers(0, 3)), max_size=5), st.booleans())
def test_whatever_happened_the_history_is_one_that_servers_accept(
    turns: list[tuple[str, list[str], str, int]], strict: bool
) -> None:
    messages: list[Message] = [PROMPT]
    for number, (text, ids, notice, answered) in enumerate(turns):
        calls = [tool_call(f"{number}.{index}", provider_id=own) for index, own in enumerate(ids)]
        messages += [
            reply_with(*calls, text=text),
            *(result(call, "r", PNG) for call in calls[:answered]),
            user(notice),
        ]
    history = sent(*messages, provider=dialect(user_after_tools=not strict))
    waiting: list[str] = []
    before = "system"
    for message in history:
        role = message["role"]
        if role == "tool":
            assert message["tool_call_id"] == waiting.pop(0)
        else:
            assert not waiting
            assert role != before
            assert not (strict and (before, role) == ("tool", "user"))
        waiting += [call["id"] for call in message.get("tool_calls", [])]
        assert message["content"] or message.get("tool_calls")
        before = role
    assert not waiting


def test_marks_are_sent_to_the_models_whose_own_protocol_wants_them() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    said: list[Message] = [
        PROMPT,
        reply_with(READ),
        result(READ, "a"),
        reply_with(GREP),
        result(GREP, "b"),
        user("And now?"),
    ]
    router = dialect(marks=["m-"])
    messages = json.loads(json.dumps(encode(router, asks(*said))["messages"]))

    assert [message["role"] for message in messages] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "user",
    ]
    assert [at for at, message in enumerate(messages) if "cache_control" in json.dumps(message)] == [0, 1, 3, 6]
    assert messages[0]["content"] == [{"type": "text", "text": "Be brief.", **mark}]
    assert messages[5]["content"] == [{"type": "text", "text": "b"}]
    assert "cache_control" not in json.dumps(encode(PROVIDER, asks(*said)))


def test_but_for_the_marks_each_request_begins_with_the_one_before() -> None:
    said: list[Message] = [PROMPT, reply_with(READ), result(READ, "a"), reply_with(GREP), result(GREP, "b")]
    router = dialect(marks=["m-"])
    bodies = [json.dumps(encode(router, asks(*said[:count]))["messages"]) for count in (1, 3, 5)]
    plain = [body.replace(', "cache_control": {"type": "ephemeral"}', "") for body in bodies]

    assert plain[1].startswith(plain[0][:-1])
    assert plain[2].startswith(plain[1][:-1])


def test_only_who_wants_it_is_told_which_requests_begin_alike() -> None:
    request = asks(PROMPT).model_copy(update={"cache_key": "nightly"})
    long = request.model_copy(update={"cache_key": "n" * 65})

    assert "prompt_cache_key" not in encode(PROVIDER, request)
    assert encode(dialect(cache_key=True), request)["prompt_cache_key"] == "nightly"
    assert re.fullmatch(r"[0-9a-f]{64}", str(encode(dialect(cache_key=True), long)["prompt_cache_key"]))
    assert "prompt_cache_key" not in encode(dialect(cache_key=True), asks(PROMPT).model_copy(update={"cache_key": ""}))
    assert BUILT_IN["openai"].dialect.cache_key
