"""What is sent: everything each time, and nothing that is kept at the provider."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kova_auto.core.ids import BlobHash
from kova_auto.core.message import (
    ImagePart,
    Message,
    ModelRequest,
    Part,
    ResultStatus,
    TextPart,
    ToolCall,
    ToolSpec,
    UserMessage,
)
from kova_auto.core.provider import Dialect, Provider
from kova_auto.llm.history import LOST, NOTHING
from kova_auto.llm.openai_responses.encode import encode
from tests.llm.chat_stream import PROMPT, PROVIDER, asks, reply_with, result, tool_call

PNG = ImagePart(blob=BlobHash("p"), media_type="image/png")
PNG_SENT = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw==", "detail": "auto"}
READ, GREP = tool_call("1.1", provider_id="call-a", path="a.md"), tool_call("1.2", "grep", "call-b", pattern="é")


def user(*texts: str) -> UserMessage:
    return UserMessage(parts=tuple(TextPart(text=text) for text in texts))


def sent(*messages: Message, provider: Provider = PROVIDER) -> list[Any]:
    request = asks(*messages).model_copy(update={"images": {PNG.blob: b"\x89PNG"}})
    return list(json.loads(json.dumps(encode(provider, request)["input"])))


def asked(*texts: str) -> dict[str, Any]:
    parts = [{"type": "input_text", "text": text} for text in texts]
    return {"type": "message", "role": "user", "content": parts}


def spoken(text: str, number: int) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {
        "id": f"msg_{number}_0",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }


def called(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}


def told(call_id: str, output: object) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": output}


LOOK = asked("Look around.")
READ_SENT = called("call-a", "read", '{"path": "a.md"}')
GREP_SENT = called("call-b", "grep", '{"pattern": "é"}')


def test_a_whole_request() -> None:
    tool = ToolSpec(name="read", description="Read a file.", parameters={"type": "object", "properties": {}})
    request = asks(PROMPT, tools=(tool,)).model_copy(update={"max_output_tokens": 900, "cache_key": "nightly"})
    assert encode(PROVIDER, request) == {
        "model": "m-1",
        "instructions": "Be brief.",
        "input": [LOOK],
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "tools": [
            {
                "type": "function",
                "name": "read",
                "description": "Read a file.",
                "parameters": {"type": "object", "properties": {}},
                "strict": False,
            }
        ],
        "max_output_tokens": 900,
        "prompt_cache_key": "nightly",
    }


def test_a_request_holds_nothing_that_was_not_asked_for() -> None:
    assert encode(PROVIDER, ModelRequest(model="m", system=" ", messages=(PROMPT,))) == {
        "model": "m",
        "input": [LOOK],
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }


def test_a_cache_key_is_no_longer_than_the_service_takes() -> None:
    keys = [encode(PROVIDER, asks().model_copy(update={"cache_key": name * 65}))["prompt_cache_key"] for name in "xy"]
    assert all(re.fullmatch("[0-9a-f]{64}", str(key)) for key in keys)
    assert keys[0] != keys[1]


def test_calls_are_followed_by_one_output_each_in_their_order() -> None:
    assert sent(PROMPT, reply_with(READ, GREP, text="Hm."), result(GREP, "g"), result(READ, "r")) == [
        LOOK,
        spoken("Hm.", 1),
        READ_SENT,
        GREP_SENT,
        told("call-a", "r"),
        told("call-b", "g"),
    ]


def test_each_message_has_an_id_of_its_own_that_stays_when_the_conversation_grows() -> None:
    short = sent(PROMPT, reply_with(text="Yes."), user("Sure?"))
    assert sent(PROMPT, reply_with(text="Yes."), user("Sure?"), reply_with(text="Yes.")) == [*short, spoken("Yes.", 3)]


def test_a_call_without_a_result_is_answered_as_unknown() -> None:
    assert sent(PROMPT, reply_with(READ, GREP), result(READ, "r"), user("Go on."))[3:] == [
        told("call-a", "r"),
        told("call-b", LOST),
        asked("Go on."),
    ]


def test_a_result_without_its_call_is_not_sent() -> None:
    assert sent(PROMPT, result(READ, "r")) == [LOOK]


@pytest.mark.parametrize(
    ("status", "output"),
    [
        (ResultStatus.OK, "text"),
        (ResultStatus.ERROR, "[error] text"),
        (ResultStatus.DENIED, "[denied] text"),
        (ResultStatus.UNKNOWN, "[unknown] text"),
        (ResultStatus.CANCELLED, "[cancelled] text"),
    ],
)
def test_a_result_says_how_its_call_ended(status: ResultStatus, output: str) -> None:
    assert sent(PROMPT, reply_with(READ), result(READ, "text", status=status))[-1] == told("call-a", output)


@pytest.mark.parametrize("parts", [(), ("",), ("\n",)])
def test_a_result_without_text_says_so(parts: tuple[str, ...]) -> None:
    assert sent(PROMPT, reply_with(READ), result(READ, *parts))[-1] == told("call-a", NOTHING)


@pytest.mark.parametrize(
    ("parts", "first"), [((PNG,), "(an image, shown below)"), (("[image/png]", PNG), "[image/png]")]
)
def test_an_image_of_a_result_is_part_of_its_output(parts: tuple[str | Part, ...], first: str) -> None:
    output = [{"type": "input_text", "text": first}, PNG_SENT]
    assert sent(PROMPT, reply_with(READ), result(READ, *parts))[-1] == told("call-a", output)


def test_an_image_is_sent_as_a_data_url() -> None:
    content = [{"type": "input_text", "text": "What is it?"}, PNG_SENT]
    assert sent(UserMessage(parts=(TextPart(text="What is it?"), PNG))) == [{**LOOK, "content": content}]


def test_an_image_that_is_gone_is_named() -> None:
    gone = ImagePart(blob=BlobHash("gone"), media_type="image/png")
    assert sent(UserMessage(parts=(gone,))) == [asked("[an image that is no longer available]")]


def test_what_the_user_says_in_a_row_is_one_message_and_nothing_is_empty() -> None:
    assert sent(PROMPT, user("And", " ", "this."), reply_with(text=" \n"), user("")) == [
        asked("Look around.", "And", "this.")
    ]


def test_ids_that_are_missing_repeated_or_strange_are_replaced_and_stay_paired() -> None:
    calls = [tool_call(f"{n}.1", provider_id=own) for n, own in enumerate(["", "same", "same", "fc|1", "x" * 65], 1)]
    items = sent(*(part for call in calls for part in (reply_with(call), result(call, "r"))))
    ids = [item["call_id"] for item in items[::2]]
    assert [item["call_id"] for item in items[1::2]] == ids
    assert ids[1] == "same"
    assert len(set(ids)) == 5
    assert all(re.fullmatch("c[0-9a-f]{8}", wire) for wire in (ids[0], *ids[2:]))


def test_a_server_that_takes_only_its_own_kind_of_ids_gets_ours() -> None:
    strict = PROVIDER.model_copy(update={"dialect": Dialect(keeps_ids=False)})
    assert re.fullmatch("[a-zA-Z0-9]{9}", sent(reply_with(READ), provider=strict)[0]["call_id"])


@pytest.mark.parametrize(
    ("call", "name", "arguments"),
    [
        (tool_call("1.1", "read", unparsed='{"path": "a'), "read", "{}"),
        (tool_call("1.1", "re ad/é", a=1), "re_ad__", '{"a": 1}'),
        (tool_call("1.1", ""), "unnamed", "{}"),
        (tool_call("1.1", "x" * 99), "x" * 64, "{}"),
    ],
)
def test_what_the_model_got_wrong_is_sent_back_valid(call: ToolCall, name: str, arguments: str) -> None:
    first = sent(reply_with(call), result(call, "r"))[0]
    assert (first["name"], first["arguments"]) == (name, arguments)


_TEXTS = st.sampled_from(["", " ", "text"])
_CALLS = st.lists(st.sampled_from(["", "a", "b", "x|y"]), max_size=3)


@settings(deadline=None)
@given(st.lists(st.tuples(_TEXTS, _CALLS, _TEXTS, st.integers(0, 3)), max_size=5))
def test_whatever_happened_every_call_has_one_output_before_anything_else(
    turns: list[tuple[str, list[str], str, int]],
) -> None:
    messages: list[Message] = [PROMPT]
    for number, (text, ids, notice, answered) in enumerate(turns):
        calls = [tool_call(f"{number}.{index}", provider_id=own) for index, own in enumerate(ids)]
        messages += [reply_with(*calls, text=text), *(result(call, "r", PNG) for call in calls[:answered])]
        messages.append(user(notice))
    waiting: list[str] = []
    known: set[str] = set()
    for item in sent(*messages):
        match item["type"]:
            case "function_call":
                assert item["call_id"] not in known
                known.add(item["call_id"])
                waiting.append(item["call_id"])
            case "function_call_output":
                assert item["call_id"] == waiting.pop(0)
                assert item["output"]
            case _:
                assert not waiting
                assert all(part["text"].strip() for part in item["content"])
    assert not waiting
