"""What a provider's refusal means."""

from __future__ import annotations

import json

import pytest
from pydantic import JsonValue

from kova_auto.core.errors import ContextOverflowError, ModelError, ModelRefusedError, ModelUnavailableError
from kova_auto.core.fault import TRANSIENT, Fault
from kova_auto.llm.faults import Problem, failure_of, fault_of, problem_in
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


@pytest.mark.parametrize("status", [400, 422])
def test_a_bad_request_without_a_word_is_taken_for_an_overflow(status: int) -> None:
    assert type(failure_of(PROVIDER, Problem(""), status)) is ContextOverflowError


@pytest.mark.parametrize(
    ("problem", "status", "fault"),
    [
        (Problem("your request is unwelcome"), 400, Fault.OVERFLOW),
        (Problem("unprocessable", frozenset({"invalid_request_error"})), 422, Fault.OVERFLOW),
        (Problem("no such tool", param="tools[0]"), 400, Fault.INVALID),
        (Problem("slow down"), 429, Fault.RATE_LIMITED),
        (Problem("no"), 401, Fault.AUTH),
        (Problem("oops"), 500, Fault.SERVER),
    ],
)
def test_a_bad_request_larger_than_the_window_is_an_overflow_in_any_words(
    problem: Problem, status: int, fault: Fault
) -> None:
    assert fault_of(problem, status, too_large=True) is fault


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (429, "Rate limit reached: 100000 input tokens per minute exceeded, reduce the length of the messages"),
        (429, "Too many tokens: this organization's maximum context length of 5 requests"),
        (400, "max_tokens is too large: 200000. This model supports at most 16384 completion tokens"),
        (400, "temperature must be at most 2"),
        (401, "prompt is too long for this key"),
        (403, "prompt is too long for this plan"),
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


FAULTS: list[tuple[int | None, dict[str, JsonValue], Fault]] = [
    (308, {}, Fault.NOT_FOUND),
    (400, {"type": "invalid_request_error"}, Fault.INVALID),
    (400, {"code": "content_filter"}, Fault.INVALID),
    (401, {"code": "invalid_api_key"}, Fault.AUTH),
    (402, {}, Fault.SPENT),
    (403, {"type": "permission_error"}, Fault.AUTH),
    (404, {"code": "model_not_found"}, Fault.NOT_FOUND),
    (408, {}, Fault.TIMEOUT),
    (413, {}, Fault.OVERFLOW),
    (418, {}, Fault.INVALID),
    (422, {}, Fault.INVALID),
    (429, {"code": "rate_limit_exceeded"}, Fault.RATE_LIMITED),
    (429, {"type": "server_error"}, Fault.RATE_LIMITED),
    (429, {"type": "engine_overloaded_error"}, Fault.OVERLOADED),
    (429, {"code": "insufficient_quota"}, Fault.SPENT),
    (429, {"type": "rate_limit_error", "details": {"error_code": "enforced_spend_limit_reached"}}, Fault.SPENT),
    (429, {"type": "rate_limit_error", "details": {"error_code": "contract_spend_limit_reached"}}, Fault.SPENT),
    (429, {"type": "rate_limit_error", "details": {"error_code": "something_else"}}, Fault.RATE_LIMITED),
    (500, {"type": "api_error"}, Fault.SERVER),
    (500, {"type": "overloaded_error"}, Fault.OVERLOADED),
    (500, {"type": "invalid_request_error"}, Fault.SERVER),
    (502, {}, Fault.SERVER),
    (503, {"type": "server_error"}, Fault.OVERLOADED),
    (504, {"type": "timeout_error"}, Fault.TIMEOUT),
    (524, {}, Fault.TIMEOUT),
    (529, {"type": "overloaded_error"}, Fault.OVERLOADED),
    (None, {"code": 502}, Fault.SERVER),
    (None, {"code": "429"}, Fault.RATE_LIMITED),
    (None, {"type": "overloaded_error"}, Fault.OVERLOADED),
    (None, {"type": "rate_limit_error"}, Fault.RATE_LIMITED),
    (None, {"type": "timeout_error"}, Fault.TIMEOUT),
    (None, {"type": "api_error"}, Fault.SERVER),
    (None, {"type": "authentication_error"}, Fault.AUTH),
    (None, {"code": "invalid_api_key"}, Fault.AUTH),
    (None, {"type": "not_found_error"}, Fault.NOT_FOUND),
    (None, {"type": "invalid_request_error"}, Fault.INVALID),
    (None, {"status": "RESOURCE_EXHAUSTED"}, Fault.RATE_LIMITED),
    (None, {"code": "insufficient_quota"}, Fault.SPENT),
    (None, {}, Fault.SERVER),
]


@pytest.mark.parametrize(("status", "error", "fault"), FAULTS)
def test_status_and_codes_say_what_is_wrong(status: int | None, error: dict[str, JsonValue], fault: Fault) -> None:
    found = failure(status, {"error": {"message": "no", **error}})
    assert (found.fault, found.retryable, found.status) == (fault, fault in TRANSIENT, status)


@pytest.mark.parametrize("message", ["insufficient_quota", "overloaded", "invalid api key", "model not found"])
def test_wording_decides_nothing_but_an_overflow(message: str) -> None:
    assert fault_of(Problem(message), 400) is Fault.INVALID


def test_a_limit_of_tokens_inside_a_stream_is_no_overflow() -> None:
    error: JsonValue = {"code": "rate_limit_exceeded", "message": "Please reduce the length of the messages"}
    assert failure(None, {"error": error}).fault is Fault.RATE_LIMITED


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
        (
            {"error": {"message": "no", "code": "unknown_parameter", "param": "top_k"}},
            Problem("no", frozenset({"unknown_parameter"}), param="top_k"),
        ),
        (
            {"detail": [{"loc": ["body", "messages", 2, "x"], "msg": "m"}]},
            Problem('[{"loc": ["body", "messages", 2, "x"], "msg": "m"}]', param="messages.2.x"),
        ),
        (
            {
                "error": {
                    "message": "Provider returned error",
                    "code": 400,
                    "metadata": {"raw": '{"error": {"code": "c"}}'},
                }
            },
            Problem('Provider returned error: {"error": {"code": "c"}}', frozenset({"c"}), 400),
        ),
        (
            {"error": {"message": "no", "metadata": {"raw": "{"}, "details": [{"retryDelay": "1.5s"}, 7]}},
            Problem("no: {", retry_after_s=1.5),
        ),
        (
            {"error": {"type": "a", "message": "no", "details": {"error_code": "b"}}},
            Problem("no", frozenset({"a", "b"})),
        ),
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


@pytest.mark.parametrize(("header", "seconds"), [(2.5, 2.5), (10_800.0, 10_800.0), (None, 34.0)])
def test_a_refusal_keeps_when_to_ask_again(header: float | None, seconds: float) -> None:
    details: JsonValue = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}]
    error = failure(429, {"error": {"message": "slow down", "details": details}}, retry_after_s=header)
    assert error.retry_after_s == seconds


def test_a_refusal_keeps_what_the_provider_calls_the_request() -> None:
    assert failure_of(PROVIDER, Problem("no"), 500, request_id="req-1").request_id == "req-1"


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
    assert text == "acme answered 403: denied for [key]; look at api_key in [providers.acme]"


def test_a_secret_in_the_base_urls_query_is_not_shown_either() -> None:
    query = "api-version=2026-01-01&sig=0123%2Bdef"
    provider = PROVIDER.model_copy(update={"base_url": f"https://h.example.org/v1?{query}"})
    text = str(failure_of(provider, Problem("0123+def may not ask for 2026-01-01"), 403))
    assert text == "acme answered 403: [key] may not ask for 2026-01-01; look at api_key in [providers.acme]"


def test_a_message_is_one_short_printable_line() -> None:
    text = str(failure(500, json.loads(json.dumps({"error": {"message": "a\n\x1b[31m b\x00" + "c" * 5000}}))))
    assert text.startswith("acme answered 500: a [31m b ccc")
    assert len(text) < 640
    assert text.isprintable()
