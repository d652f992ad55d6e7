"""Messages over real sockets, as the client carries them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from pydantic import JsonValue

from kova_auto.core.errors import ModelError, ModelRefusedError, ModelUnavailableError
from kova_auto.core.fault import Fault
from kova_auto.core.message import AssistantMessage, ModelReply, ModelRequest, ReplyDone, Usage
from kova_auto.core.provider import Auth, WireProtocol
from kova_auto.core.stop_reason import StopReason
from kova_auto.llm.anthropic_messages.wire import AnthropicMessages
from kova_auto.llm.catalog import open_model
from kova_auto.llm.choice import Pin
from kova_auto.llm.client import HttpModel
from tests.llm.chat_stream import KEY, PROMPT, asks
from tests.llm.fault_server import Act, Answer, FaultServer, in_pieces, refuses, serving, streams
from tests.llm.messages_stream import RECORDED

WHOLE = RECORDED["thinking-tools"]
CALLS = ["read", "todo_list"]


@asynccontextmanager
async def asking(*answers: Answer, extra_body: object = None) -> AsyncIterator[tuple[HttpModel, FaultServer]]:
    async with serving(*answers) as server:
        provider = server.provider(
            protocol=WireProtocol.ANTHROPIC_MESSAGES, auth=Auth.X_API_KEY, extra_body=extra_body or {}
        )
        model = HttpModel(provider, AnthropicMessages())
        try:
            yield model, server
        finally:
            await model.aclose()


async def reply_of(model: HttpModel, request: ModelRequest | None = None) -> ModelReply:
    *_, last = [chunk async for chunk in model.stream(request or asks())]
    assert isinstance(last, ReplyDone)
    return last.reply


async def failure_of(model: HttpModel) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await reply_of(model)
    return caught.value


async def test_a_request_carries_version_key_and_body() -> None:
    async with asking(streams(WHOLE)) as (model, server):
        await reply_of(model)
    (request,) = server.requests
    assert request.target == "/v1/messages"
    assert request.headers["anthropic-version"] == "2026-10-21"
    assert request.headers["x-api-key"] == KEY
    assert "authorization" not in request.headers
    assert request.body == AnthropicMessages().encode(server.provider(), asks())


@pytest.mark.parametrize("size", [1, 7, 4096])
async def test_pieces_of_any_size_give_the_same_reply(size: int) -> None:
    async with asking(streams(*in_pieces(WHOLE, size), request_id="req_1")) as (model, _):
        reply = await reply_of(model)
    assert [call.tool for call in reply.calls] == CALLS
    assert (reply.stop, reply.usage.tokens, reply.request_id) == (StopReason.TOOL_CALLS, 661, "req_1")


@pytest.mark.parametrize("end", [(), (Act.DROP,), (Act.CLOSE,)])
async def test_a_stream_that_breaks_off_after_any_event_is_never_a_reply(end: tuple[Act, ...]) -> None:
    events = WHOLE.split(b"\n\n")
    before_end = next(n for n, event in enumerate(events) if event.startswith(b"event: message_delta"))
    before = 0
    for count in range(before_end + 1):
        async with asking(streams(*(event + b"\n\n" for event in events[:count]), *end)) as (model, _):
            error = await failure_of(model)
        assert (type(error), error.retryable) == (ModelUnavailableError, True)
        spent = error.spent or Usage()
        assert (spent.input_tokens, spent.output_tokens >= 2) == ((472, True) if count else (0, False))
        assert spent.output_tokens >= before
        before = spent.output_tokens
    assert before > 2


@pytest.mark.parametrize("end", [(), (Act.DROP,), (Act.CLOSE,), (b"event: message_stop\nda", Act.CLOSE)])
async def test_a_break_after_the_stop_reason_costs_nothing(end: tuple[Act | bytes, ...]) -> None:
    async with asking(streams(WHOLE.partition(b"event: message_stop")[0], *end)) as (model, _):
        assert [call.args for call in (await reply_of(model)).calls] == [{"path": "docs/über.md", "limit": 20}, {}]


async def test_message_stop_ends_the_call_although_the_server_goes_on() -> None:
    async with asking(streams(WHOLE, Act.PINGS)) as (model, _):
        assert [call.tool for call in (await reply_of(model)).calls] == CALLS


async def test_one_json_body_instead_of_a_stream_is_a_reply() -> None:
    async with asking(Answer((RECORDED["whole"],), headers=(("content-type", "application/json"),))) as (model, _):
        reply = await reply_of(model)
    assert (reply.text, [call.args for call in reply.calls]) == ("One moment.", [{"path": "a.md"}])


@pytest.mark.parametrize(
    ("body", "kind", "fault"),
    [
        (
            b'{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}',
            ModelUnavailableError,
            Fault.OVERLOADED,
        ),
        (
            b'{"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}}',
            ModelRefusedError,
            Fault.AUTH,
        ),
        (RECORDED["overloaded"], ModelUnavailableError, Fault.OVERLOADED),
    ],
)
async def test_a_success_with_an_error_inside_is_an_error(body: bytes, kind: type[ModelError], fault: Fault) -> None:
    async with asking(streams(body)) as (model, _):
        error = await failure_of(model)
    assert (type(error), error.fault) == (kind, fault)


async def test_a_spend_limit_is_no_rate_that_passes() -> None:
    said = {"type": "rate_limit_error", "message": "m", "details": {"error_code": "contract_spend_limit_reached"}}
    async with asking(refuses(429, {"type": "error", "error": said})) as (model, _):
        error = await failure_of(model)
    assert (type(error), error.fault) == (ModelRefusedError, Fault.SPENT)


async def test_what_a_server_refuses_is_left_out_when_it_is_asked_again() -> None:
    refusals = [
        refuses(400, {"type": "error", "error": {"type": "invalid_request_error", "message": message}})
        for message in (
            "system.0.cache_control: Extra inputs are not permitted",
            "temperature: Extra inputs are not permitted",
        )
    ]
    async with asking(*refusals, streams(WHOLE), extra_body={"temperature": 1}) as (model, server):
        await reply_of(model)
    bodies = [request.body for request in server.requests]
    assert ["cache_control" in str(body) for body in bodies] == [True, False, False]
    assert ["temperature" in body for body in bodies] == [True, True, False]


async def test_a_pin_of_such_a_provider_is_opened_as_what_speaks_to_it() -> None:
    async with serving(streams(WHOLE)) as server:
        provider = server.provider(protocol=WireProtocol.ANTHROPIC_MESSAGES)
        model = open_model(Pin("acme", "m-1"), {"acme": provider})
        _ = [chunk async for chunk in model.stream(asks())]
        await model.aclose()
    assert server.requests[0].target == "/v1/messages"


async def test_thoughts_that_one_conversation_must_leave_out_are_none_to_another() -> None:
    thought: JsonValue = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    text: JsonValue = {"type": "text", "text": "Hi."}
    said = AssistantMessage(text="Hi.", raw={"provider": "acme", "model": "m-1", "content": [thought, text]})
    spoken = asks(PROMPT, said, PROMPT)
    message = "messages.1.content.0: Invalid `signature` in `thinking` block"
    refusal = refuses(400, {"type": "error", "error": {"type": "invalid_request_error", "message": message}})
    async with asking(refusal, streams(WHOLE)) as (model, server):
        for _ in range(2):
            await reply_of(model, spoken)
    assert ["c2ln" in str(request.body) for request in server.requests] == [True, False, True]
