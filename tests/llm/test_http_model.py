"""One provider over real sockets: what it says, and every way in which it can fail to."""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
import logging
import ssl
import traceback
import zlib

import pytest
import trustme

from kova_auto.core.errors import ContextOverflowError, ModelError, ModelRefusedError, ModelUnavailableError
from kova_auto.core.fault import Fault
from kova_auto.core.message import ReplyDone, TextDelta
from kova_auto.core.provider import Timeouts
from kova_auto.llm.client import HttpModel
from kova_auto.llm.openai_chat.wire import OpenAiChat
from tests.llm.chat_stream import DONE, KEY, asked, asks, calls, delta, fragment, quick, sse, usage
from tests.llm.fault_server import Act, Answer, asking, failure_of, in_pieces, refuses, reply_of, serving, streams

HI = sse(delta(content="Hi é🚀."), delta("stop"), usage(3, 2), DONE)
HALF = sse(delta(content="Half an ans"))


async def test_a_request_carries_key_body_and_nothing_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    async with asking(streams(HI), headers={"X-Title": "kova"}) as (model, server):
        await reply_of(model)
    (request,) = server.requests
    assert (request.method, request.target, request.body["model"], request.body["stream"]) == (
        "POST",
        "/v1/chat/completions",
        "m-1",
        True,
    )
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["x-title"] == "kova"
    assert (request.headers["accept-encoding"], "cookie" in request.headers) == ("identity", False)


async def test_a_provider_without_a_key_is_sent_none() -> None:
    async with asking(streams(HI), api_key="") as (model, server):
        await reply_of(model)
    assert "authorization" not in server.requests[0].headers


@pytest.mark.parametrize(
    ("base", "target"),
    [
        (
            "/openai/deployments/d-1?api-version=2026-01-01",
            "/openai/deployments/d-1/chat/completions?api-version=2026-01-01",
        ),
        ("/openai/v1/", "/openai/v1/chat/completions"),
        ("/proxy/chat/completions", "/proxy/chat/completions"),
    ],
)
async def test_a_deployment_and_a_version_of_the_base_url_are_kept(base: str, target: str) -> None:
    async with serving(streams(HI)) as server:
        url = f"http://127.0.0.1:{server.port}{base}"
        model = HttpModel(server.provider(base_url=url, auth="api-key"), OpenAiChat())
        await reply_of(model)
        await model.aclose()
    (request,) = server.requests
    assert (request.target, request.headers["api-key"], "authorization" in request.headers) == (target, KEY, False)


@pytest.mark.parametrize("size", [1, 7, 4096])
async def test_pieces_of_any_size_give_the_same_reply(size: int) -> None:
    stream = b": hello\r\n\r\n" + HI.replace(b"\n", b"\r\n")
    async with asking(streams(*in_pieces(stream, size), x_request_id="req-1")) as (model, _):
        reply = await reply_of(model)
    assert (reply.text, reply.usage.tokens, reply.request_id) == ("Hi é🚀.", 5, "req-1")


async def test_a_missing_last_line_end_is_no_loss() -> None:
    async with asking(streams(HI.rstrip())) as (model, _):
        assert (await reply_of(model)).text == "Hi é🚀."


async def test_a_megabyte_of_arguments_arrives() -> None:
    text = json.dumps({"content": "x" * 1_000_000})
    pieces = [calls(fragment(text[at : at + 50_000], index=0)) for at in range(0, len(text), 50_000)]
    stream = sse(calls(fragment("", index=0, id="c", name="write")), *pieces, delta("tool_calls"), DONE)
    async with asking(streams(*in_pieces(stream, 65_536))) as (model, _):
        assert (await reply_of(model)).calls == (asked("write", "c", content="x" * 1_000_000),)


async def test_a_piece_larger_than_the_limit_ends_the_call() -> None:
    huge = b"data: " + b"x" * 1_048_576
    async with asking(streams(*[huge] * 9)) as (model, _):
        error = await failure_of(model)
    assert (type(error), "larger than 8,388,608 bytes" in str(error)) == (ModelUnavailableError, True)


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(HI)),
        ("deflate", zlib.compress(HI)),
        ("identity", HI),
    ],
)
async def test_a_body_that_was_compressed_unasked_is_read(encoding: str, body: bytes) -> None:
    async with asking(streams(*in_pieces(body, 9), content_encoding=encoding)) as (model, _):
        assert (await reply_of(model)).text == "Hi é🚀."


@pytest.mark.parametrize(
    ("encoding", "body", "said"),
    [
        ("br", b"...", "compressed in a way that was not asked for"),
        ("gzip", HI, "not compressed as it says"),
        ("gzip", gzip.compress(b"data: " + b"x" * 9_000_000), "larger than 8,388,608 bytes"),
    ],
)
async def test_a_body_that_cannot_be_read_is_an_error(encoding: str, body: bytes, said: str) -> None:
    async with asking(streams(body, content_encoding=encoding)) as (model, _):
        error = await failure_of(model)
    assert (type(error), said in str(error)) == (ModelUnavailableError, True)


@pytest.mark.parametrize("end", [(), (Act.DROP,), (Act.CLOSE,)])
@pytest.mark.parametrize(
    "start",
    [
        (),
        (HALF,),
        (sse(calls(fragment('{"path": "a"}', index=0, id="c", name="write"))),),
        (b"data: {",),
        (b": ping\n\n",),
    ],
)
async def test_a_stream_that_breaks_off_is_never_a_reply(start: tuple[bytes, ...], end: tuple[Act, ...]) -> None:
    async with asking(streams(*start, *end)) as (model, _):
        error = await failure_of(model)
    assert (type(error), error.retryable) == (ModelUnavailableError, True)


@pytest.mark.parametrize("end", [Act.DROP, Act.CLOSE])
async def test_what_was_shown_before_a_break_was_shown(end: Act) -> None:
    async with asking(streams(HALF, end)) as (model, _):
        stream = model.stream(asks())
        assert await anext(stream) == TextDelta(text="Half an ans")
        with pytest.raises(ModelUnavailableError, match="before the answer's end"):
            await anext(stream)


async def test_what_came_together_with_what_ended_it_is_shown_first_and_as_one() -> None:
    async with asking(streams(sse(delta(content="Half "), delta(content="an ans"), {"error": "busy"}))) as (model, _):
        stream = model.stream(asks())
        assert await anext(stream) == TextDelta(text="Half an ans")
        with pytest.raises(ModelUnavailableError, match="busy"):
            await anext(stream)


@pytest.mark.parametrize("rest", [(Act.DROP,), (Act.CLOSE,), (b'data: {"usa', Act.CLOSE), (b'data: {"usa',)])
async def test_a_break_after_the_finish_reason_costs_only_the_count(rest: tuple[bytes | Act, ...]) -> None:
    async with asking(streams(sse(delta(content="Hi."), delta("stop")), *rest)) as (model, _):
        assert (await reply_of(model)).text == "Hi."


async def test_done_ends_the_call_although_the_server_goes_on() -> None:
    async with asking(streams(HI, Act.PINGS)) as (model, _):
        assert (await reply_of(model)).text == "Hi é🚀."


@pytest.mark.parametrize(
    ("start", "act", "timeouts", "said"),
    [
        ((), Act.NO_ANSWER, quick(first_token_s=0.1), "acme sent nothing new for 0.1 s"),
        ((), Act.STALL, quick(first_token_s=0.1), "acme sent nothing new for 0.1 s"),
        ((), Act.PINGS, quick(first_token_s=0.1), "acme sent nothing new for 0.1 s"),
        ((), Act.EMPTY_DELTAS, quick(first_token_s=0.1), "acme sent nothing new for 0.1 s"),
        ((HALF,), Act.STALL, quick(idle_s=0.1), "acme sent nothing new for 0.1 s"),
        ((HALF,), Act.PINGS, quick(idle_s=0.1), "acme sent nothing new for 0.1 s"),
        ((HALF,), Act.EMPTY_DELTAS, quick(idle_s=0.1), "acme sent nothing new for 0.1 s"),
        ((HALF,), Act.PINGS, quick(total_s=0.2), "acme did not finish its answer within 0.2 s"),
    ],
)
async def test_silence_ends_the_call_and_keep_alives_are_silence(
    start: tuple[bytes, ...], act: Act, timeouts: Timeouts, said: str
) -> None:
    async with asking(streams(*start, act), timeouts=timeouts) as (model, _):
        error = await failure_of(model)
    assert (type(error), str(error)) == (ModelUnavailableError, said)


async def test_a_slow_reader_is_no_silent_server() -> None:
    async with asking(streams(HALF, HI), timeouts=quick(idle_s=0.5)) as (model, _):
        stream = model.stream(asks())
        await anext(stream)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.6):
                await asyncio.Event().wait()
        *_, last = [chunk async for chunk in stream]
    assert isinstance(last, ReplyDone)


async def test_nobody_there_is_an_error_that_names_the_place() -> None:
    async with serving(streams(HI)) as server:
        provider = server.provider()
    model = HttpModel(provider, OpenAiChat())
    error = await failure_of(model)
    await model.aclose()
    assert type(error) is ModelUnavailableError
    assert str(error) == f"acme at http://127.0.0.1:{server.port}/v1: no connection: connection refused"


async def test_a_certificate_of_nobody_known_is_refused() -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(tls)
    async with serving(streams(HI), tls=tls) as server:
        model = HttpModel(server.provider(scheme="https"), OpenAiChat())
        error = await failure_of(model)
        await model.aclose()
    assert type(error) is ModelUnavailableError
    assert "its certificate was refused: unable to get local issuer certificate" in str(error)
    assert server.requests == []


@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        (refuses(400, {"error": {"message": "bad", "code": "x"}}), ModelRefusedError, "bad (x)"),
        (
            refuses(401, {"error": {"message": f"bad key {KEY}"}}),
            ModelRefusedError,
            "bad key [key]; look at api_key in [providers.acme]",
        ),
        (refuses(403, b"<html>no</html>"), ModelRefusedError, "a page of HTML; look at api_key in [providers.acme]"),
        (refuses(404, b"<html>no</html>"), ModelRefusedError, "a page of HTML: check its base_url"),
        (refuses(404, {"error": "model 'm-1' not found"}), ModelRefusedError, "model 'm-1' not found"),
        (refuses(422, {"detail": "bad"}), ModelRefusedError, "bad"),
        (refuses(307, location="http://127.0.0.1:9/"), ModelRefusedError, "it has moved: check its base_url"),
        (
            refuses(429, {"error": {"code": "insufficient_quota", "message": "pay"}}),
            ModelRefusedError,
            "pay (insufficient_quota)",
        ),
        (refuses(413), ContextOverflowError, "without a word"),
        (refuses(400), ContextOverflowError, "without a word"),
        (
            refuses(400, {"error": {"code": "context_length_exceeded", "message": "m"}}),
            ContextOverflowError,
            "m (context_length_exceeded)",
        ),
        (refuses(500, {"error": {"message": "oops"}}), ModelUnavailableError, "oops"),
        (refuses(503, b"upstream\nis away"), ModelUnavailableError, "upstream is away"),
        (
            refuses(529, {"error": {"message": "busy", "type": "overloaded_error"}}),
            ModelUnavailableError,
            "busy (overloaded_error)",
        ),
        (Answer((b'{"error": {"mess', Act.CLOSE), 502, ()), ModelUnavailableError, '{"error": {"mess'),
        (Answer((b"x" * 99_000, Act.PINGS), 500, ()), ModelUnavailableError, "" + "x" * 599 + "…"),
    ],
)
async def test_an_answer_that_is_no_success_says_what_to_do(answer: Answer, kind: type[ModelError], said: str) -> None:
    async with asking(answer) as (model, _):
        error = await failure_of(model)
    assert (type(error), str(error)) == (kind, f"acme answered {answer.status}: {said}")


async def test_when_to_ask_again_comes_from_the_headers() -> None:
    async with asking(refuses(429, {"error": {"message": "slow"}}, retry_after="7")) as (model, _):
        error = await failure_of(model)
    assert isinstance(error, ModelUnavailableError)
    assert error.retry_after_s == 7


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"error": {"message": "busy", "code": 503}}', ModelUnavailableError),
        (b'{\n "error": {"message": "no", "code": 401}\n}', ModelRefusedError),
        (b"<html>please log in</html>", ModelUnavailableError),
        (b"", ModelUnavailableError),
        (b"data: {\n\n", ModelUnavailableError),
    ],
)
async def test_a_success_with_an_error_inside_is_an_error(body: bytes, kind: type[ModelError]) -> None:
    async with asking(streams(body) if body else streams()) as (model, _):
        assert type(await failure_of(model)) is kind


async def test_a_page_instead_of_a_stream_says_where_to_look() -> None:
    async with asking(streams(b"<html><body>Welcome</body></html>")) as (model, _):
        error = await failure_of(model)
    assert (error.fault, str(error)) == (Fault.MALFORMED, "acme answered with a page of HTML: check its base_url")


async def test_one_json_body_instead_of_a_stream_is_a_reply() -> None:
    body = json.dumps({"choices": [{"message": {"content": "Hi."}, "finish_reason": "stop"}]}, indent=1).encode()
    async with asking(Answer((body,), headers=(("content-type", "application/json"),))) as (model, _):
        assert (await reply_of(model)).text == "Hi."


async def test_a_failed_call_is_not_repeated() -> None:
    async with asking(refuses(503, {"error": {"message": "busy"}}), streams(HI)) as (model, server):
        await failure_of(model)
        assert len(server.requests) == 1
        assert (await reply_of(model)).text == "Hi é🚀."


async def test_calls_in_a_row_use_one_connection() -> None:
    async with asking(streams(HI), refuses(500, {"error": {"message": "m"}}), streams(HI)) as (model, server):
        await reply_of(model)
        await failure_of(model)
        await reply_of(model)
        assert (len(server.requests), server.connections) == (3, 1)


async def test_no_more_calls_at_once_than_the_provider_takes() -> None:
    async with asking(streams(HALF, Act.STALL), timeouts=quick(idle_s=0.1), max_concurrent=2) as (model, server):
        streams_at_once = [model.stream(asks()) for _ in range(3)]
        for stream in streams_at_once[:2]:
            await anext(stream)
        third = asyncio.ensure_future(anext(streams_at_once[2]))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await asyncio.shield(third)
        assert len(server.requests) == 2
        await streams_at_once[0].aclose()
        assert await third == TextDelta(text="Half an ans")
        for stream in streams_at_once:
            await stream.aclose()


async def test_a_reader_that_stops_early_leaves_no_connection_behind() -> None:
    async with asking(streams(HALF, Act.STALL)) as (model, server):
        stream = model.stream(asks())
        await anext(stream)
        await stream.aclose()
        async with asyncio.timeout(60):
            await server.gone.wait()


async def test_cancelling_a_call_leaves_no_connection_behind() -> None:
    async with asking(streams(HALF, Act.STALL)) as (model, server):
        call = asyncio.create_task(reply_of(model))
        await server.asked.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        async with asyncio.timeout(60):
            await server.gone.wait()


async def test_the_key_is_in_no_error_and_no_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    answer = refuses(401, {"error": {"message": f"{KEY} at https://h/?key={KEY}", "code": KEY}})
    async with asking(answer, streams(f"data: {KEY}\n\n".encode()), streams(HALF, Act.DROP)) as (model, _):
        shown = ["".join(traceback.format_exception(await failure_of(model))) for _ in range(3)]
    assert [text for text in (*shown, caplog.text) if KEY in text] == []


async def test_closing_twice_is_closing_once() -> None:
    async with asking(streams(HI)) as (model, _):
        await reply_of(model)
        await model.aclose()
        await model.aclose()
        assert (await reply_of(model)).text == "Hi é🚀."
    gc.collect()
