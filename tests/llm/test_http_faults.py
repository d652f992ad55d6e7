"""What a failed call still says: its class, its id, what it has used, and when to ask again."""

from __future__ import annotations

import asyncio
import gzip

import pytest

from kova_auto.core.errors import ContextOverflowError, ModelRefusedError, ModelUnavailableError
from kova_auto.core.fault import Fault
from kova_auto.core.message import Message, ModelRequest, TextPart, Usage, UserMessage
from kova_auto.llm.estimate import estimated
from tests.llm.chat_stream import DONE, Chunk, asks, calls, delta, fragment, quick, sse, usage
from tests.llm.fake_time import FakeTime, settled
from tests.llm.fault_server import Act, Answer, asking, failure_of, in_pieces, refuses, reply_of, streams

HI = sse(delta(content="Hi."), delta("stop"), usage(3, 2), DONE)
HALF: Chunk = {**delta(content="Half an ans"), "usage": {"prompt_tokens": 900, "completion_tokens": 4}}
SPENT = Usage(input_tokens=900, output_tokens=4)


@pytest.mark.parametrize(
    ("rest", "fault"),
    [
        ((Act.DROP,), Fault.NETWORK),
        ((Act.CLOSE,), Fault.NETWORK),
        ((), Fault.TRUNCATED),
        ((b'data: {"choices": [{"del',), Fault.TRUNCATED),
        ((b"data: [DON",), Fault.TRUNCATED),
        ((b"data: {\n\n",), Fault.MALFORMED),
        ((b"data: " + b"x" * 9_000_000,), Fault.MALFORMED),
        ((sse(delta("error"), DONE),), Fault.SERVER),
        ((sse(delta("network_error"), DONE),), Fault.NETWORK),
        ((sse(delta("insufficient_system_resource"), DONE),), Fault.OVERLOADED),
        ((sse(delta("tool_calls"), DONE),), Fault.MALFORMED),
        ((sse({"error": {"message": "busy", "type": "overloaded_error"}}),), Fault.OVERLOADED),
        ((sse({"error": {"message": "slow", "code": 429}}),), Fault.RATE_LIMITED),
        ((sse({"choices": [{"error": {"message": "gone", "code": 502}, "finish_reason": "error"}]}),), Fault.SERVER),
        ((Act.STALL,), Fault.TIMEOUT),
        ((Act.PINGS,), Fault.TIMEOUT),
        ((Act.EMPTY_DELTAS,), Fault.TIMEOUT),
    ],
)
async def test_a_stream_that_fails_says_how_and_what_it_had_used(rest: tuple[bytes | Act, ...], fault: Fault) -> None:
    answer = streams(sse(HALF), *rest, x_request_id="req-1")
    async with asking(answer, timeouts=quick(idle_s=0.1 if fault is Fault.TIMEOUT else 60)) as (model, _):
        error = await failure_of(model)
    assert (type(error), error.fault) == (ModelUnavailableError, fault)
    assert (error.spent, error.request_id, error.status) == (SPENT, "req-1", None)


async def test_what_a_stream_without_its_count_brought_is_estimated_so_that_a_ceiling_holds() -> None:
    brought = sse(delta(content="x" * 400), calls(fragment("y" * 400, name="write", id="c1")))
    async with asking(streams(brought, Act.DROP)) as (model, _):
        error = await failure_of(model)
    assert (error.fault, error.spent) == (Fault.NETWORK, estimated(asks(), 800))


async def test_a_call_that_failed_before_anything_came_has_used_nothing_that_we_know_of() -> None:
    async with asking(refuses(500, {"error": {"message": "oops"}}, request_id="req-2")) as (model, _):
        error = await failure_of(model)
    assert (error.spent, error.request_id, error.status, error.fault) == (None, "req-2", 500, Fault.SERVER)


async def test_nobody_there_is_a_fault_of_the_network() -> None:
    async with asking(streams(HI)) as (_, server):
        provider = server.provider()
    async with asking(streams(HI), base_url=provider.base_url) as (model, _):
        assert (await failure_of(model)).fault is Fault.NETWORK


@pytest.mark.parametrize("url", ["http://\u00e9..x/v1", "http://xn--a/v1"])
async def test_an_address_that_cannot_be_asked_is_a_fault_of_the_settings(url: str) -> None:
    async with asking(streams(HI), base_url=url) as (model, _):
        error = await failure_of(model)
    assert (type(error), error.fault) == (ModelRefusedError, Fault.SETTINGS)
    assert str(error) == f"acme at {url} cannot be asked like this: check its base_url and headers"


async def test_no_header_of_the_settings_says_where_a_body_ends() -> None:
    headers = {"Content-Length": "7", "Transfer-Encoding": "chunked", "x-title": "kova"}
    async with asking(streams(HI), headers=headers) as (model, server):
        assert (await reply_of(model)).text == "Hi."
    assert "transfer-encoding" not in server.requests[0].headers


@pytest.mark.parametrize("encoding", ["gzip", "br"])
async def test_a_body_that_is_not_what_it_says_is_malformed(encoding: str) -> None:
    async with asking(streams(HI, content_encoding=encoding)) as (model, _):
        assert (await failure_of(model)).fault is Fault.MALFORMED


@pytest.mark.parametrize(
    ("answer", "seconds"),
    [
        (refuses(429, {"error": {"message": "slow"}}, retry_after="10800"), 10_800),
        (refuses(503, {"error": {"message": "busy"}}, retry_after_ms="250"), 0.25),
        (
            refuses(
                429,
                {"error": {"message": "slow"}},
                retry_after="Tue, 01 Dec 2026 13:00:00 GMT",
                date="Tue, 01 Dec 2026 10:00:00 GMT",
            ),
            10_800,
        ),
        (
            refuses(
                429,
                {"error": {"message": "slow"}},
                date="Tue, 01 Dec 2026 10:00:00 GMT",
                anthropic_ratelimit_input_tokens_remaining="0",
                anthropic_ratelimit_input_tokens_reset="2026-12-01T10:01:30Z",
            ),
            90,
        ),
    ],
)
async def test_a_long_wait_is_passed_on_and_never_slept(answer: Answer, seconds: float) -> None:
    async with asking(answer) as (model, _), asyncio.timeout(60):
        assert (await failure_of(model)).retry_after_s == seconds


def large(tokens: int) -> ModelRequest:
    told: Message = UserMessage(parts=(TextPart(text="x" * tokens * 4),))
    return asks(told)


WINDOW = {"m-1": {"window": 4_096}}
REFUSED = {"error": {"message": "This request is more than we like", "code": "bad_request"}}


@pytest.mark.parametrize(("tokens", "fault"), [(5_000, Fault.OVERFLOW), (3_000, Fault.INVALID)])
async def test_a_refusal_in_unknown_words_is_an_overflow_where_the_window_says_so(tokens: int, fault: Fault) -> None:
    async with asking(refuses(400, REFUSED), models=WINDOW) as (model, _):
        assert (await failure_of(model, large(tokens))).fault is fault


async def test_a_refusal_is_no_overflow_where_nobody_knows_the_window() -> None:
    async with asking(refuses(400, REFUSED)) as (model, _):
        assert (await failure_of(model, large(9_000_000))).fault is Fault.INVALID


@pytest.mark.parametrize(
    "chunks",
    [
        [delta(content="Hi."), delta("stop"), usage(4_097, 2)],
        [delta("length"), usage(4_096, 0)],
        [delta("length", reasoning="Hm."), usage(4_090, 6)],
    ],
)
async def test_a_success_whose_count_is_larger_than_the_window_is_an_overflow(chunks: list[Chunk]) -> None:
    async with asking(streams(sse(*chunks, DONE)), models=WINDOW) as (model, _):
        error = await failure_of(model)
    assert (type(error), error.spent and error.spent.tokens in (4_099, 4_096)) == (ContextOverflowError, True)
    assert str(error) == "acme answered a request that is larger than the window of m-1"


@pytest.mark.parametrize(
    "chunks",
    [
        [delta(content="Hi."), delta("stop"), usage(4_096, 2)],
        [delta(content="Hi."), delta("length"), usage(4_090, 6)],
        [delta(content="x" * 40_000), delta("stop")],
    ],
)
async def test_a_reply_that_fills_the_window_is_a_reply(chunks: list[Chunk]) -> None:
    async with asking(streams(sse(*chunks, DONE)), models=WINDOW) as (model, _):
        assert (await reply_of(model)).text


async def test_a_long_rest_is_asked_of_nobody_over_the_wire() -> None:
    time, slow = FakeTime(), refuses(429, {"error": {"message": "slow"}}, retry_after="100")
    async with asking(slow, streams(HI), timer=time.timer) as (model, server):
        await failure_of(model)
        error = await failure_of(model)
        assert (error.fault, error.retry_after_s, len(server.requests)) == (Fault.RATE_LIMITED, 100, 1)
        await time.passes(100)
        assert (await reply_of(model)).text == "Hi."


async def test_a_burst_of_refusals_lets_one_call_try_and_then_all() -> None:
    time, slow = FakeTime(), refuses(429, {"error": {"message": "slow"}}, retry_after="2")
    async with asking(slow, streams(HI), timer=time.timer, max_concurrent=50) as (model, server):
        await failure_of(model)
        waiting = [asyncio.ensure_future(reply_of(model)) for _ in range(50)]
        await settled()
        assert len(server.requests) == 1
        await time.passes(2)
        replies = await asyncio.gather(*waiting)
    assert ([reply.text for reply in replies], len(server.requests)) == (["Hi."] * 50, 51)


async def test_a_rest_of_one_model_is_no_rest_of_another() -> None:
    slow = refuses(429, {"error": {"message": "slow"}}, retry_after="100")
    async with asking(slow, streams(HI)) as (model, _):
        await failure_of(model)
        assert (await reply_of(model, asks().model_copy(update={"model": "m-2"}))).text == "Hi."


async def test_waiting_for_a_turn_is_no_silence_of_the_provider() -> None:
    time, slow = FakeTime(), refuses(429, {"error": {"message": "slow"}}, retry_after="50")
    async with asking(slow, streams(HI), timer=time.timer, timeouts=quick(first_token_s=0.5)) as (model, _):
        await failure_of(model)
        waiting = asyncio.ensure_future(reply_of(model))
        await asyncio.wait([waiting], timeout=0.6)
        await time.passes(50)
        assert (await waiting).text == "Hi."


HARD = sse(
    calls(fragment("", index=0, id="same", name="read"), fragment("", index=1, id="same", name="write")),
    calls(fragment('{"path": "é', index=1)),
    calls(fragment('{"path": "🚀"}', index=0), fragment('🚀"}', index=1)),
    delta("tool_calls"),
    {**usage(7, 5), "obfuscation": "aaaaaaaa"},
)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 4_096])
@pytest.mark.parametrize("packed", [False, True])
async def test_whatever_lies_between_us_and_a_server_the_calls_are_the_same(
    *, end: bytes, size: int, packed: bool
) -> None:
    body = b": OPENROUTER PROCESSING\n\n" + HARD.replace(b"data: ", b"data:   ").replace(b"}\n", b"}  \n").rstrip()
    body = body.replace(b"\n", end)
    encoding = {"content_encoding": "gzip"} if packed else {}
    async with asking(streams(*in_pieces(gzip.compress(body) if packed else body, size), **encoding)) as (model, _):
        reply = await reply_of(model)
    assert [(call.tool, call.args, call.provider_id) for call in reply.calls] == [
        ("read", {"path": "🚀"}, "same"),
        ("write", {"path": "é🚀"}, "same"),
    ]
    assert reply.usage.tokens == 12
