"""A response that failed, or a stream that broke: an error that says which, and never a reply."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from pydantic import JsonValue

from kova_auto.core.errors import ContextOverflowError, ModelError, ModelRefusedError, ModelUnavailableError
from kova_auto.core.fault import Fault
from kova_auto.core.message import Usage
from kova_auto.llm.openai_responses.decode import ResponsesDecoder
from tests.llm.chat_stream import KEY, PROVIDER, asks
from tests.llm.responses_stream import (
    Json,
    begun,
    completed,
    ended,
    event,
    events_in,
    function_call,
    message,
    read,
    read_stream,
    response,
    said,
    sse,
    told,
    usage,
)

WRITTEN = function_call('{"path":"a"}')
HALF = [*begun(), *told(message(said("Half an ans"))), *told(WRITTEN, 1)]


def refused(*events: Json | str) -> ModelError:
    with pytest.raises(ModelError) as caught:
        read(*events)
    return caught.value


@pytest.mark.parametrize("events", [[], begun(), HALF, [*HALF, "[DONE]"]])
def test_a_stream_without_its_end_is_no_reply(events: list[Json | str]) -> None:
    error = refused(*events)
    assert (type(error), error.fault, str(error)) == (
        ModelUnavailableError,
        Fault.TRUNCATED,
        "acme broke the answer off before its end",
    )


@pytest.mark.parametrize(
    ("fields", "said_why"),
    [
        ({"incomplete_details": {"reason": "steered"}}, "steered"),
        ({"incomplete_details": {"reason": "what_is_this"}}, "what_is_this"),
        ({"incomplete_details": None}, "no reason given"),
        ({"status": "cancelled"}, "cancelled"),
    ],
)
def test_an_early_end_that_nobody_knows_is_no_end_to_build_on(fields: Json, said_why: str) -> None:
    error = refused(*begun(), *told(WRITTEN), ended("incomplete", **fields))
    assert (type(error), error.fault) == (ModelUnavailableError, Fault.TRUNCATED)
    assert str(error) == f"acme ended its answer early: {said_why}"


FAILED = [
    ("server_error", Fault.SERVER),
    ("rate_limit_exceeded", Fault.RATE_LIMITED),
    ("vector_store_timeout", Fault.TIMEOUT),
    ("invalid_prompt", Fault.INVALID),
    ("bio_policy", Fault.INVALID),
    ("misalignment_policy_violation", Fault.INVALID),
    ("data_residency_mismatch", Fault.INVALID),
    ("image_too_large", Fault.INVALID),
    ("image_file_not_found", Fault.INVALID),
    ("empty_image_file", Fault.INVALID),
    ("insufficient_quota", Fault.SPENT),
    ("context_length_exceeded", Fault.OVERFLOW),
]


@pytest.mark.parametrize(("code", "fault"), FAILED)
@pytest.mark.parametrize("before", [begun(), HALF])
def test_a_failed_response_is_an_error_of_its_code(before: list[Json], code: str, fault: Fault) -> None:
    error = refused(*before, ended("failed", error={"code": code, "message": "no"}, usage=None))
    assert (error.fault, str(error)) == (fault, f"acme ended its answer with an error: no ({code})")


def test_a_failed_response_without_a_reason_may_pass() -> None:
    assert refused(*begun(), ended("failed", error=None)).retryable


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"type": "error", "code": "server_error", "message": "no", "param": None}, ModelUnavailableError),
        ({"type": "error", "code": "invalid_prompt", "message": "no", "param": None}, ModelRefusedError),
        ({"type": "error", "code": None, "message": "no", "param": None}, ModelUnavailableError),
        ({"type": "error", "error": {"type": "too_many_requests", "message": "no"}}, ModelUnavailableError),
        ({"type": "error", "error": {"code": "context_length_exceeded", "message": "no"}}, ContextOverflowError),
        ({"type": "error", "error": {"code": "insufficient_quota", "message": "no"}}, ModelRefusedError),
        ({"error": {"code": "server_error", "message": "no"}}, ModelUnavailableError),
        ({"error": {"code": "invalid_api_key", "message": "no"}}, ModelRefusedError),
        ({"error": "no"}, ModelUnavailableError),
        ({"detail": "no"}, ModelUnavailableError),
        ([{"error": {"code": 503, "message": "no"}}], ModelUnavailableError),
    ],
)
@pytest.mark.parametrize("before", [[], HALF])
def test_a_bare_error_is_an_error(before: list[Json], body: JsonValue, kind: type[ModelError]) -> None:
    error = refused(*before, json.dumps(body), completed())
    assert (type(error), str(error).startswith("acme ended its answer with an error: no")) == (kind, True)


def test_an_event_that_is_called_error_is_one_whatever_its_shape() -> None:
    with pytest.raises(ModelUnavailableError, match="acme ended its answer with an error: busy"):
        read_stream(sse(*begun()) + b'event: error\ndata: {"message": "busy", "code": "x"}\n\n')


@pytest.mark.parametrize("text", ["{", "<html>", '{"usage": NaN}', "[1]", '"x"', "7", "[" * 5000])
def test_a_piece_that_is_no_event_is_an_error_to_try_again(text: str) -> None:
    error = refused(*begun(), text, completed())
    assert (type(error), error.fault) == (ModelUnavailableError, Fault.MALFORMED)


def test_a_key_in_a_broken_piece_or_a_reason_is_not_shown() -> None:
    assert KEY not in str(refused(f"denied for {KEY}"))
    assert KEY not in str(refused(ended("incomplete", incomplete_details={"reason": KEY})))


@pytest.mark.parametrize(
    "brought",
    [
        told(message(said("x" * 400))),
        told(function_call("x" * 400)),
        [event("output_item.done", output_index=0, item=function_call("x" * 400))],
        [event("output_item.done", output_index=0, item=message(said("x" * 400)))],
    ],
)
def test_what_a_stream_had_written_is_known_however_it_came(brought: list[Json]) -> None:
    decoder = ResponsesDecoder(PROVIDER, asks())
    assert decoder.written == 0
    for one in events_in(sse(*begun(), *brought)):
        decoder.feed(one)
    assert decoder.written == 400


@pytest.mark.parametrize(
    "events",
    [
        [*begun(), ended("failed", usage=usage(12, 3))],
        [event("in_progress", response=response("in_progress", usage=usage(12, 3)))],
    ],
)
def test_what_a_failed_stream_has_used_is_known(events: list[Json]) -> None:
    decoder = ResponsesDecoder(PROVIDER, asks())
    assert decoder.spent is None
    with suppress(ModelError):
        for one in events_in(sse(*events)):
            decoder.feed(one)
    assert decoder.spent == Usage(input_tokens=12, output_tokens=3)
