"""Responses over real sockets: asked by name, answered, dropped, and asked again without what was refused."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kova_auto.core.errors import ModelRefusedError, ModelUnavailableError
from kova_auto.core.fault import Fault
from kova_auto.core.message import Usage
from kova_auto.core.provider import Timeouts, WireProtocol
from kova_auto.core.stop_reason import StopReason
from kova_auto.llm.catalog import open_model
from kova_auto.llm.choice import Pin
from kova_auto.llm.client import HttpModel
from tests.llm.chat_stream import KEY, asked, asks, quick
from tests.llm.fault_server import (
    Act,
    Answer,
    FaultServer,
    failure_of,
    in_pieces,
    refuses,
    reply_of,
    serving,
    streams,
)
from tests.llm.responses_stream import (
    begun,
    ended,
    event,
    function_call,
    message,
    response,
    said,
    sse,
    told,
    usage,
    whole,
)

HI, READ = message(said("Hi é🚀.")), function_call('{"path":"a"}')
STREAM = sse(*whole(HI, READ))
HALF = sse(*begun(), *told(HI), *told(READ, 1))


@asynccontextmanager
async def asking(*answers: Answer, timeouts: Timeouts | None = None) -> AsyncIterator[tuple[HttpModel, FaultServer]]:
    """Serve answers, and open a model by its provider's protocol."""
    async with serving(*answers) as server:
        provider = server.provider(timeouts, protocol=WireProtocol.OPENAI_RESPONSES)
        model = open_model(Pin("acme", "m-1"), {"acme": provider})
        assert isinstance(model, HttpModel)
        try:
            yield model, server
        finally:
            await model.aclose()


async def test_a_request_carries_key_and_body() -> None:
    async with asking(streams(STREAM)) as (model, server):
        await reply_of(model)
    (request,) = server.requests
    assert (request.target, request.headers["authorization"]) == ("/v1/responses", f"Bearer {KEY}")
    assert (request.body["model"], request.body["store"], request.body["stream"]) == ("m-1", False, True)


@pytest.mark.parametrize("size", [1, 7, 4096])
async def test_pieces_of_any_size_give_the_same_reply(size: int) -> None:
    async with asking(streams(*in_pieces(STREAM.replace(b"\n", b"\r\n"), size), x_request_id="req-1")) as (model, _):
        reply = await reply_of(model)
    assert (reply.text, reply.calls, reply.request_id) == ("Hi é🚀.", (asked("read", "call_1", path="a"),), "req-1")


async def test_a_stream_that_goes_on_after_its_end_is_not_waited_for() -> None:
    async with asking(streams(STREAM, Act.STALL), timeouts=quick(idle_s=60, total_s=60)) as (model, _):
        assert (await reply_of(model)).stop is StopReason.TOOL_CALLS


@pytest.mark.parametrize(
    ("end", "fault"), [((), Fault.TRUNCATED), ((Act.DROP,), Fault.NETWORK), ((Act.CLOSE,), Fault.NETWORK)]
)
async def test_whole_calls_of_a_stream_that_broke_off_are_no_reply(end: tuple[Act, ...], fault: Fault) -> None:
    async with asking(streams(HALF, *end)) as (model, _):
        error = await failure_of(model)
    assert (type(error), error.fault) == (ModelUnavailableError, fault)


async def test_events_without_content_are_no_progress() -> None:
    waiting = sse(*(event("in_progress", response=response("in_progress")) for _ in range(3)))
    async with asking(streams(waiting, Act.PINGS), timeouts=quick(first_token_s=0.1)) as (model, _):
        assert (await failure_of(model)).fault is Fault.TIMEOUT


async def test_a_failed_response_says_what_it_has_used() -> None:
    failed = ended("failed", error={"code": "server_error", "message": "no"}, usage=usage(12, 3))
    async with asking(streams(sse(*begun(), failed), x_request_id="req-1")) as (model, _):
        error = await failure_of(model)
    assert (error.fault, error.request_id, error.spent) == (
        Fault.SERVER,
        "req-1",
        Usage(input_tokens=12, output_tokens=3),
    )


async def test_one_json_body_instead_of_a_stream_is_a_reply() -> None:
    body = json.dumps(response("completed", HI), indent=1).encode()
    async with asking(Answer((body,), headers=(("content-type", "application/json"),))) as (model, _):
        assert (await reply_of(model)).text == "Hi é🚀."


async def test_one_json_body_with_an_error_is_one() -> None:
    body = json.dumps({"error": {"message": "no", "code": "invalid_api_key"}}, indent=1).encode()
    async with asking(Answer((body,), headers=(("content-type", "application/json"),))) as (model, _):
        error = await failure_of(model)
    assert (type(error), error.fault) == (ModelRefusedError, Fault.AUTH)


async def test_a_server_is_asked_again_without_what_it_refuses_and_then_from_the_start() -> None:
    refusals = [
        refuses(
            400, {"error": {"message": f"Unknown parameter: '{name}'.", "param": name, "code": "unknown_parameter"}}
        )
        for name in ("include", "prompt_cache_key")
    ]
    request = asks().model_copy(update={"cache_key": "job"})
    async with asking(*refusals, streams(STREAM)) as (model, server):
        await reply_of(model, request)
        await reply_of(model, request)
    keys = [{"include", "prompt_cache_key"} & set(one.body) for one in server.requests]
    assert keys == [{"include", "prompt_cache_key"}, {"prompt_cache_key"}, set(), set()]
