"""What a provider's refusal means."""

from __future__ import annotations

import json

import pytest
from pydantic import JsonValue

from kova_auto.core.errors import ContextOverflowError, ModelError, ModelRefusedError, ModelUnavailableError
from kova_auto.llm.faults import Problem, failure_of, problem_in
from tests.llm.chat_stream import KEY, PROVIDER

OVERFLOWS = [
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 8545 tokens.",
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "prompt is too long: 213462 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 199759 + 8192 > 200000, decrease input length",
    "Input is too long for requested model.",
    "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "Please reduce the length of the messages or completion.",
    "This endpoint's maximum context length is 32768 tokens. However, you requested about 40000 tokens.",
    "the request exceeds the available context size, try increasing it",
    "request (9000 tokens) exceeds the available context size (4096 tokens)",
    "The number of tokens to keep from the initial prompt is greater than the context length",
    "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with 4096 tokens",
    "prompt token count of 140000 exceeds the limit of 128000",
    "invalid params, context window exceeds limit (2013)",
    "Your request exceeded model token limit: 131072 (requested: 140000)",
    "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
    "prompt too long; exceeded max context length by 37 tokens",
    "Prompt tokens (9000) exceeds context size (4096)",
    "number of input tokens (204703) has exceeded max_prompt_tokens (202752) limit.",
    "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
    "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 20 `max_new_tokens`",
    "too many tokens: total number of tokens in the prompt cannot exceed 4081",
    "Range of input length should be [1, 129024]",
    "You passed 8193 input tokens. However, the model's context length is only 8192 tokens.",
    "Prompt exceeds max length",
]


@pytest.mark.parametrize("message", OVERFLOWS)
@pytest.mark.parametrize("status", [400, 422, 500])
def test_every_wording_of_an_overflow_is_one(message: str, status: int) -> None:
    assert type(failure_of(PROVIDER, Problem(message), status)) is ContextOverflowError


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, {"error": {"message": "no", "code": "context_length_exceeded"}}),
        (400, {"error": {"message": "no", "type": "exceed_context_size_error", "n_ctx": 4096}}),
        (413, {"error": {"message": "Request too large", "code": "rate_limit_exceeded"}}),
        (400, {"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": OVERFLOWS[0]}}}),
        (400, {"object": "error", "message": OVERFLOWS[0], "type": "BadRequestError", "code": 400}),
    ],
)
def test_an_overflow_is_known_by_its_code_wherever_it_stands(status: int, body: JsonValue) -> None:
    assert type(failure(status, body)) is ContextOverflowError


def test_a_bad_request_without_a_word_is_taken_for_an_overflow() -> None:
    assert type(failure_of(PROVIDER, Problem(""), 400)) is ContextOverflowError


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (429, "Rate limit reached: 100000 input tokens per minute exceeded, reduce the length of the messages"),
        (429, "Too many tokens: this organization's maximum context length of 5 requests"),
        (400, "max_tokens is too large: 200000. This model supports at most 16384 completion tokens"),
        (400, "temperature must be at most 2"),
        (401, "prompt is too long for this key"),
    ],
)
def test_a_limit_of_another_kind_is_no_overflow(status: int, message: str) -> None:
    assert type(failure_of(PROVIDER, Problem(message), status)) is not ContextOverflowError


def failure(status: int | None, body: JsonValue, retry_after_s: float | None = None) -> ModelError:
    problem = problem_in(body)
    assert problem is not None
    return failure_of(PROVIDER, problem, status, retry_after_s)


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "invalid_request_error", ModelRefusedError),
        (401, "invalid_api_key", ModelRefusedError),
        (402, "", ModelRefusedError),
        (403, "permission_denied", ModelRefusedError),
        (404, "model_not_found", ModelRefusedError),
        (405, "", ModelRefusedError),
        (422, "", ModelRefusedError),
        (308, "", ModelRefusedError),
        (429, "insufficient_quota", ModelRefusedError),
        (429, "enforced_spend_limit_reached", ModelRefusedError),
        (429, "rate_limit_exceeded", ModelUnavailableError),
        (429, "", ModelUnavailableError),
        (408, "", ModelUnavailableError),
        (409, "", ModelUnavailableError),
        (500, "server_error", ModelUnavailableError),
        (502, "", ModelUnavailableError),
        (503, "", ModelUnavailableError),
        (529, "overloaded_error", ModelUnavailableError),
    ],
)
def test_a_status_says_whether_to_ask_again(status: int, code: str, kind: type[ModelError]) -> None:
    error = failure(status, {"error": {"message": "no", "code": code}})
    assert (type(error), error.retryable) == (kind, kind is ModelUnavailableError)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"message": "m", "code": 502}, ModelUnavailableError),
        ({"message": "m", "code": "429"}, ModelUnavailableError),
        ({"message": "m", "code": 401}, ModelRefusedError),
        ({"message": "m", "type": "server_error"}, ModelUnavailableError),
        ({"message": "m", "type": "overloaded_error"}, ModelUnavailableError),
        ({"message": "m", "code": "rate_limit_exceeded", "type": "requests"}, ModelUnavailableError),
        ({"message": "m", "type": "invalid_request_error"}, ModelRefusedError),
        ({"message": "m", "code": "content_filter"}, ModelRefusedError),
        ({"message": "m", "code": "insufficient_quota"}, ModelRefusedError),
        ({"message": OVERFLOWS[0], "type": "invalid_request_error"}, ContextOverflowError),
        ({"message": "something odd"}, ModelUnavailableError),
        ("upstream went away", ModelUnavailableError),
    ],
)
def test_an_error_inside_a_stream_is_told_by_what_it_names(error: JsonValue, kind: type[ModelError]) -> None:
    assert type(failure(None, {"error": error})) is kind


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"error": {"message": "no", "type": "t", "code": "c"}}, Problem("no", frozenset({"t", "c"}))),
        ({"error": {"message": "no", "code": 503}}, Problem("no", status=503)),
        ({"error": "model 'x' not found"}, Problem("model 'x' not found")),
        (
            [{"error": {"code": 400, "message": "no", "status": "INVALID_ARGUMENT"}}],
            Problem("no", frozenset({"invalid_argument"}), 400),
        ),
        ({"detail": "Not Found"}, Problem("Not Found")),
        ({"detail": [{"loc": ["body"], "msg": "x"}]}, Problem('[{"loc": ["body"], "msg": "x"}]')),
        (
            {"object": "error", "message": {"detail": "x"}, "type": "bad"},
            Problem('{"detail": "x"}', frozenset({"bad"})),
        ),
        (
            {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}},
            Problem("busy", frozenset({"overloaded_error"})),
        ),
        ({"error": {"message": None, "code": None}}, Problem("")),
        ({"choices": [], "error": None}, None),
        ({"choices": [], "detail": "x"}, None),
        ({}, None),
        ([], None),
        ("error", None),
        (None, None),
    ],
)
def test_errors_are_found_in_every_shape(body: JsonValue, said: Problem | None) -> None:
    assert problem_in(body) == said


def test_a_refusal_names_provider_status_and_code() -> None:
    error = failure(
        404, {"error": {"message": "The model `gpt-9-2030-01-01` does not exist", "code": "model_not_found"}}
    )
    assert str(error) == "acme answered 404: The model `gpt-9-2030-01-01` does not exist (model_not_found)"


def test_a_refusal_keeps_when_to_ask_again() -> None:
    error = failure(429, {"error": {"message": "slow down"}}, retry_after_s=2.5)
    assert isinstance(error, ModelUnavailableError)
    assert error.retry_after_s == 2.5


@pytest.mark.parametrize(
    "message",
    [
        f"Incorrect API key provided: {KEY}. You can find your key at your account page",
        "Incorrect API key provided: sk-proj-abcd****************wxyz.",
        f"see https://user:{KEY}@host/v1",
        f"no route https://host/v1/chat?api-version=1&key={KEY}x",
        f"header Authorization: Bearer {KEY}",
        "key AIzaSyA-1234567890abcdefg is disabled",
    ],
)
def test_no_key_is_shown_whoever_wrote_it(message: str) -> None:
    text = str(failure(401, {"error": {"message": message, "code": KEY}}))
    assert not [part for part in (KEY, KEY[:12], "abcd*", "wxyz", "1234567890", "api-version") if part in text]


def test_a_secret_header_is_not_shown_either() -> None:
    provider = PROVIDER.model_copy(update={"headers": {"api-key": "0123456789abcdef0123"}})
    text = str(failure_of(provider, Problem("denied for 0123456789abcdef0123"), 403))
    assert text == "acme answered 403: denied for [key]"


def test_a_message_is_one_short_printable_line() -> None:
    text = str(failure(500, json.loads(json.dumps({"error": {"message": "a\n\x1b[31m b\x00" + "c" * 5000}}))))
    assert text.startswith("acme answered 500: a [31m b ccc")
    assert len(text) < 640
    assert text.isprintable()
