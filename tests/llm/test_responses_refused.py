"""Asked again without what a server refuses, and never without what the request is about."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from kova_auto.llm.faults import Problem, problem_in
from kova_auto.llm.openai_responses.wire import OpenAiResponses
from tests.llm.chat_stream import PROMPT, PROVIDER, asks, reply_with, result, tool_call
from tests.llm.responses_stream import Json, function_call, reasoning

CALL = tool_call("1.1", provider_id="call_1", path="a")
RAW: Json = {"provider": "acme", "model": "m-1", "output": [reasoning(), function_call('{"path":"a"}')]}
REQUEST = asks(PROMPT, reply_with(CALL, raw=RAW), result(CALL, "r")).model_copy(
    update={"cache_key": "job", "max_output_tokens": 900}
)
CHOSEN: Json = {"reasoning": {"effort": "xhigh"}, "user": "me"}
BODY = {**OpenAiResponses().encode(PROVIDER, REQUEST), **CHOSEN}


def asked_again(error: JsonValue) -> Json | None:
    problem = problem_in({"error": error})
    assert problem is not None
    return OpenAiResponses().without(BODY, problem)


@pytest.mark.parametrize(
    ("error", "left_out"),
    [
        ({"message": "Encrypted content is not supported with this model.", "param": "include"}, "include"),
        ({"message": "Invalid value: 'reasoning.encrypted_content'.", "param": "include[0]"}, "include"),
        ({"message": "no", "param": "store"}, "store"),
        ({"message": "Unknown parameter: 'prompt_cache_key'.", "param": "prompt_cache_key"}, "prompt_cache_key"),
        ({"message": "Unsupported parameter: 'include'"}, "include"),
        ({"message": "Unsupported parameter: store"}, "store"),
        ({"message": 'json: unknown field "store"'}, "store"),
        ({"message": "prompt_cache_key: Extra inputs are not permitted"}, "prompt_cache_key"),
        ({"message": "no", "type": "unsupported_parameter", "param": "user"}, "user"),
        ({"message": "'reasoning.effort' is not supported with this model", "param": "reasoning.effort"}, "reasoning"),
    ],
)
def test_a_part_that_is_refused_is_left_out(error: Json, left_out: str) -> None:
    assert asked_again(error) == {key: value for key, value in BODY.items() if key != left_out}


@pytest.mark.parametrize(
    "error",
    [
        {"message": "Items are not persisted when `store` is set to false. Try again with `store` set to true."},
        {"message": "Unsupported value: 'xhigh' is not supported with this model.", "param": "reasoning.effort"},
        {"message": "Unsupported parameter: 'max_output_tokens'", "param": "max_output_tokens"},
        {"message": "Unsupported parameter: 'tools'"},
        {"message": "tools are not supported", "param": "tools[0].name"},
        {"message": "Unknown user", "code": "unknown_user"},
        {"message": "The model `m-1` does not exist", "param": "model"},
        {"message": "Unknown parameter: 'temperature'.", "param": "temperature"},
        {"message": "Invalid 'input[1].call_id'", "param": "input[1].call_id"},
        "no",
    ],
)
def test_what_a_request_is_about_is_not_given_up(error: JsonValue) -> None:
    assert asked_again(error) is None


@pytest.mark.parametrize(
    "problem",
    [
        Problem("The encrypted content could not be verified.", frozenset({"invalid_encrypted_content"})),
        Problem("Item 'rs_1' of type 'reasoning' was provided without its item.", param="input"),
        Problem("Invalid 'input[1]': unknown type reasoning", param="input[1].type"),
    ],
)
def test_reasoning_that_is_refused_is_left_out_with_all_that_points_to_it(problem: Problem) -> None:
    again = OpenAiResponses().without(BODY, problem)
    assert again is not None
    question, _, _, output = _items(BODY)
    call = {key: value for key, value in function_call('{"path":"a"}').items() if key != "id"}
    assert again == {**BODY, "input": [question, call, output]}
    assert OpenAiResponses().without(again, problem) is None


def _items(body: Json) -> list[Json]:
    items = body["input"]
    assert isinstance(items, list)
    return [item for item in items if isinstance(item, dict)]
