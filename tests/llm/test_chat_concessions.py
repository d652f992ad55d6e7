"""Requests said without what a server refuses, or in the other way that servers know."""

from __future__ import annotations

import json

import pytest
from pydantic import JsonValue

from kova_auto.core.errors import ContextOverflowError, ModelRefusedError
from kova_auto.core.fault import Fault
from kova_auto.core.message import ToolSpec
from kova_auto.llm.faults import Problem, problem_in
from kova_auto.llm.openai_chat.concede import without
from tests.llm.chat_stream import DONE, PROMPT, Chunk, asks, delta, reply_with, result, sse, tool_call
from tests.llm.fault_server import Answer, asking, failure_of, refuses, reply_of, streams

SYSTEM: Chunk = {"role": "system", "content": "Be brief."}
USER: Chunk = {"role": "user", "content": "Hi."}
BODY: Chunk = {
    "model": "m-1",
    "messages": [SYSTEM, USER],
    "stream": True,
    "stream_options": {"include_usage": True},
    "tools": [{"type": "function", "function": {"name": "read"}}],
    "max_tokens": 100,
    "parallel_tool_calls": False,
    "temperature": 0,
    "top_k": 5,
    "user": "kova",
}


def less(*keys: str, **more: JsonValue) -> Chunk:
    return {**{key: value for key, value in BODY.items() if key not in keys}, **more}


def told(body: JsonValue) -> Problem:
    problem = problem_in(body)
    assert problem is not None
    return problem


def says(message: str, **fields: JsonValue) -> Problem:
    return told({"error": {"message": message, **fields}})


EXTRA: JsonValue = [
    {"type": "extra_forbidden", "loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}
]
UPSTREAM = json.dumps({"error": {"message": "Unknown parameter", "code": "unknown_parameter", "param": "top_k"}})


@pytest.mark.parametrize(
    ("problem", "body"),
    [
        (
            says(
                "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.",
                type="invalid_request_error",
                param="max_tokens",
                code="unsupported_parameter",
            ),
            less("max_tokens", max_completion_tokens=100),
        ),
        (says("Unrecognized request argument supplied: max_tokens"), less("max_tokens", max_completion_tokens=100)),
        (says("Unrecognized request argument supplied: stream_options"), less("stream_options")),
        (told({"detail": EXTRA}), less("stream_options")),
        (told({"object": "error", "message": {"detail": EXTRA}, "type": "invalid"}), less("stream_options")),
        (says("property 'stream_options' is unsupported"), less("stream_options")),
        (
            says("Unsupported parameter: 'parallel_tool_calls' is not supported with this model."),
            less("parallel_tool_calls"),
        ),
        (says("Unknown parameter: 'top_k'.", param="top_k", code="unknown_parameter"), less("top_k")),
        (told([{"error": {"code": 400, "message": 'Unknown name "top_k": Cannot find field.'}}]), less("top_k")),
        (
            says("Provider returned error", code=400, metadata={"raw": UPSTREAM}),
            less("top_k"),
        ),
        (
            says(
                "Unsupported value: 'temperature' does not support 0. Only the default (1) is supported.",
                param="temperature",
                code="unsupported_value",
            ),
            less("temperature"),
        ),
        (says("Unknown parameter: 'user'"), less("user")),
        (says("not allowed", param="stream_options.include_usage"), less("stream_options")),
        (
            says("Unsupported value: 'messages[0].role' does not support 'system' with this model."),
            less(messages=[{**SYSTEM, "role": "developer"}, USER]),
        ),
        (
            says("", param="messages[0].role", code="unsupported_value"),
            less(messages=[{**SYSTEM, "role": "developer"}, USER]),
        ),
        (Problem(""), less("max_tokens")),
    ],
)
def test_what_a_server_refuses_is_left_out_or_said_otherwise(problem: Problem, body: Chunk) -> None:
    assert without(BODY, problem) == body


@pytest.mark.parametrize(
    "problem",
    [
        says("registry.example.org/library/m-1 does not support tools"),
        says("Unsupported parameter: 'tools' is not supported with stream_options", param="tools"),
        says("'tools' is not supported where stream_options is given"),
        says("Unknown parameter: 'messages'", param="messages", code="unknown_parameter"),
        says("The model `m-1` is not supported", param="model"),
        says("unsupported: streaming of a `stream`"),
        says(
            "max_tokens is too large: 200000. This model supports at most 16384 completion tokens", param="max_tokens"
        ),
        says("temperature must be at most 2", param="temperature"),
        says("Unknown parameter: 'nothing_of_ours'", param="nothing_of_ours"),
        says("the user is not allowed to do this"),
        says("bad"),
    ],
)
def test_what_a_request_is_about_is_never_given_up_nor_is_a_bad_value(problem: Problem) -> None:
    assert without(BODY, problem) is None


def test_a_limit_under_its_other_name_goes_back_to_the_first() -> None:
    body = less("max_tokens", max_completion_tokens=100)
    assert without(body, says("Unrecognized request argument supplied: max_completion_tokens")) == BODY


def test_a_refusal_without_a_word_concedes_nothing_where_no_limit_was_sent() -> None:
    assert without(less("max_tokens"), Problem("")) is None


ROLE_REFUSED = says("'developer' is not one of ['system', 'user', 'assistant']", param="messages[0].role")


@pytest.mark.parametrize(
    ("after", "joined"),
    [
        ([USER], [{"role": "user", "content": "Be brief.\n\nHi."}]),
        (
            [{"role": "user", "content": [{"type": "image_url"}]}],
            [{"role": "user", "content": [{"type": "text", "text": "Be brief."}, {"type": "image_url"}]}],
        ),
        ([], [{"role": "user", "content": "Be brief."}]),
    ],
)
def test_where_a_developer_is_refused_too_the_user_says_it(after: list[JsonValue], joined: list[JsonValue]) -> None:
    developer: JsonValue = {**SYSTEM, "role": "developer"}
    assert without({"messages": [developer, *after]}, ROLE_REFUSED) == {"messages": joined}


def test_a_role_that_only_a_user_has_is_not_changed() -> None:
    assert without({"messages": [USER]}, ROLE_REFUSED) is None


def spoken(content: JsonValue, **fields: JsonValue) -> Chunk:
    return {"messages": [USER, {"role": "assistant", "content": content, "tool_calls": [{"id": "c", **fields}]}]}


@pytest.mark.parametrize(
    ("before", "problem", "after"),
    [
        (None, says("Invalid value for 'content': expected a string, got null.", param="messages.[1].content"), ""),
        (None, told({"detail": [{"loc": ["body", "messages", 1, "content"], "msg": "none is not allowed"}]}), ""),
        (None, says("messages.1.content: Input should be a valid string"), ""),
        ("", says("message at position 1 with role 'assistant': content must not be empty"), None),
    ],
)
def test_null_and_an_empty_string_take_each_others_place(before: JsonValue, problem: Problem, after: JsonValue) -> None:
    assert without(spoken(before), problem) == spoken(after)


def test_content_that_is_text_stays() -> None:
    assert without(spoken("Hm."), says("content must not be null or empty")) is None


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (spoken("Hm.", extra_content={"google": {}}), says('Unknown name "extra_content": Cannot find field.')),
        (
            {"messages": [{"role": "assistant", "content": "Hm.", "reasoning_details": []}]},
            says("property 'messages.0.reasoning_details' is unsupported"),
        ),
    ],
)
def test_a_field_that_others_want_back_is_left_out_where_it_is_not_known(body: Chunk, problem: Problem) -> None:
    left = without(body, problem)
    assert left is not None
    assert "extra_content" not in json.dumps(left)
    assert "reasoning_details" not in json.dumps(left)
    assert left.keys() == body.keys()


HI = streams(sse(delta(content="Hi."), delta("stop"), DONE))


def refused(name: str, status: int = 400) -> Answer:
    return refuses(status, {"error": {"message": f"Unsupported parameter: '{name}'", "param": name}})


async def test_a_refused_part_is_left_out_at_once_and_from_then_on() -> None:
    async with asking(refused("stream_options", 422), HI) as (model, server):
        for _ in range(2):
            assert (await reply_of(model)).text == "Hi."
    assert ["stream_options" in request.body for request in server.requests] == [True, False, False]


async def test_a_concession_to_one_model_is_none_to_another() -> None:
    async with asking(refused("stream_options"), HI) as (model, server):
        await reply_of(model)
        await reply_of(model, asks().model_copy(update={"model": "m-2"}))
    assert ["stream_options" in request.body for request in server.requests] == [True, False, True]


async def test_a_concession_that_did_not_help_is_not_remembered() -> None:
    failed = refuses(500, {"error": {"message": "oops"}})
    async with asking(refused("stream_options"), failed, HI) as (model, server):
        await failure_of(model)
        await reply_of(model)
    assert ["stream_options" in request.body for request in server.requests] == [True, False, True]


async def test_no_more_than_three_concessions_are_made_for_one_call() -> None:
    refusals = [refused(name) for name in ("stream_options", "a_1", "b_1", "c_1")]
    async with asking(*refusals, HI, extra_body={"a_1": 1, "b_1": 1, "c_1": 1}) as (model, server):
        error = await failure_of(model)
    assert (type(error), error.fault, len(server.requests)) == (ModelRefusedError, Fault.INVALID, 4)
    assert str(error) == "acme answered 400: Unsupported parameter: 'c_1'"


@pytest.mark.parametrize("status", [401, 404, 429, 500])
async def test_nothing_is_conceded_to_an_answer_of_another_kind(status: int) -> None:
    async with asking(refused("stream_options", status), HI) as (model, server):
        await failure_of(model)
    assert len(server.requests) == 1


async def test_nothing_is_conceded_to_an_overflow() -> None:
    message = "maximum context length is 8192 tokens; more is not supported, even without stream_options"
    async with asking(refuses(400, {"error": {"message": message}}), HI) as (model, server):
        error = await failure_of(model)
    assert (type(error), len(server.requests)) == (ContextOverflowError, 1)


async def test_tools_are_not_given_up() -> None:
    spec = ToolSpec(name="read", description="Read.", parameters={"type": "object"})
    async with asking(refused("tools"), HI) as (model, server):
        error = await failure_of(model, asks(tools=(spec,)))
    assert (error.fault, len(server.requests)) == (Fault.INVALID, 1)


@pytest.mark.parametrize("status", [400, 422])
async def test_a_refusal_without_a_word_is_asked_again_without_a_limit_and_then_is_an_overflow(status: int) -> None:
    limited = asks().model_copy(update={"max_output_tokens": 50})
    async with asking(refuses(status)) as (model, server):
        error = await failure_of(model, limited)
    assert (type(error), error.status) == (ContextOverflowError, status)
    assert [request.body.get("max_tokens") for request in server.requests] == [50, None]


async def test_a_word_that_follows_a_silent_refusal_decides() -> None:
    limited = asks().model_copy(update={"max_output_tokens": 50})
    async with asking(refuses(400), refuses(401, {"error": {"message": "no"}})) as (model, _):
        assert (await failure_of(model, limited)).fault is Fault.AUTH


async def test_more_is_said_where_settings_say_more_the_models_own_last() -> None:
    models = {"m-1": {"extra_body": {"temperature": 0, "stream_options": {"include_usage": False}}}}
    async with asking(HI, extra_body={"temperature": 1, "top_k": 5}, models=models) as (model, server):
        await reply_of(model)
        await reply_of(model, asks().model_copy(update={"model": "m-2"}))
    said = [(r.body["temperature"], r.body["top_k"], r.body["stream_options"]) for r in server.requests]
    assert said == [(0, 5, {"include_usage": False}), (1, 5, {"include_usage": True})]


async def test_a_history_that_was_conceded_to_stays_so_in_later_calls() -> None:
    call = tool_call("1.1", path="a")
    history = asks(PROMPT, reply_with(call), result(call, "r"))
    refusal = refuses(400, {"error": {"message": "messages.2.content: Input should be a valid string"}})
    async with asking(refusal, HI) as (model, server):
        await reply_of(model, history)
        await reply_of(model, history)
    assert [request.body["messages"][2]["content"] for request in server.requests] == [None, "", ""]
