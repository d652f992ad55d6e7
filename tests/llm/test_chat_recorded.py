"""Streams as the servers of this protocol send them: whole, cut at every byte, and read by OpenAI's own library."""

from __future__ import annotations

import json
import re
from pathlib import Path

import httpx2
import openai
import pytest
from openai.lib.streaming.chat import ChatCompletionStreamState

from kova_auto.core.errors import ModelUnavailableError
from kova_auto.core.fault import Fault
from kova_auto.core.message import ModelReply, Usage
from kova_auto.core.provider import BUILT_IN, Provider
from kova_auto.core.stop_reason import StopReason
from kova_auto.llm.answer import last_events
from kova_auto.llm.estimate import estimate
from kova_auto.llm.openai_chat.decode import ChatDecoder
from kova_auto.llm.sse import SseReader
from tests.llm.chat_stream import KEY, PROVIDER, asked, asks, read_chunks

STREAMS = {
    path.stem.removeprefix("chat-"): path.read_bytes()
    for path in (Path(__file__).parent / "streams").glob("chat-*.sse")
}
TWO_READS = (asked("read", "call_k1", path="a.md"), asked("read", "call_k2", path="b.md"))


def provider_of(name: str) -> Provider:
    return BUILT_IN[name].model_copy(update={"api_key": KEY}) if name in BUILT_IN else PROVIDER


def whole(name: str, model: str, request_id: str, stop: StopReason, **fields: object) -> ModelReply:
    named = f"{provider_of(name).name}/{model}"
    return ModelReply.model_validate({"text": "", "stop": stop, "model": named, "request_id": request_id, **fields})


REPLIES = {
    "openai": whole(
        "openai",
        "gpt-5.4-mini-2026-03-05",
        "chatcmpl-C1aZ",
        StopReason.TOOL_CALLS,
        calls=(asked("read", "call_A1", path="docs/über.md"), asked("todo", "call_B2")),
        usage=Usage(
            input_tokens=1210, output_tokens=52, cache_read_tokens=1024, cache_write_tokens=128, reasoning_tokens=32
        ),
    ),
    "openai-refusal": whole(
        "openai-refusal",
        "gpt-5.4-mini-2026-03-05",
        "chatcmpl-C1aZ",
        StopReason.REFUSED,
        text="I can\u2019t help with that.",
        stop_detail="refusal: I can\u2019t help with that.",
        usage=Usage(input_tokens=40, output_tokens=9),
    ),
    "azure": whole(
        "azure",
        "gpt-4.1-2025-04-14",
        "chatcmpl-Az9",
        StopReason.END,
        text="Two files 🚀 changed.",
        usage=Usage(input_tokens=31, output_tokens=6),
    ),
    "azure-filtered": whole(
        "azure-filtered",
        "gpt-4.1-2025-04-14",
        "chatcmpl-Az9",
        StopReason.REFUSED,
        text="First, take",
        stop_detail="content_filter: violence",
        usage=Usage(input_tokens=estimate(asks()), output_tokens=3),
    ),
    "ollama": whole(
        "ollama",
        "qwen3:8b",
        "chatcmpl-917",
        StopReason.TOOL_CALLS,
        reasoning="Both files.",
        calls=TWO_READS,
        usage=Usage(input_tokens=171, output_tokens=64),
    ),
    "vllm": whole(
        "vllm",
        "Qwen/Qwen3.5-27B",
        "chatcmpl-7f3e",
        StopReason.TOOL_CALLS,
        reasoning="I need the file.",
        calls=(asked("read", "chatcmpl-tool-91", path="a.md", limit=20),),
        usage=Usage(input_tokens=88, output_tokens=21),
    ),
    "llamacpp": whole(
        "llamacpp",
        "SmolLM2",
        "chatcmpl-Xu7",
        StopReason.TOOL_CALLS,
        calls=(asked("read", "aB3dE5fG7hI9", path="a b.md"),),
        usage=Usage(input_tokens=320, output_tokens=17, cache_read_tokens=300),
    ),
    "openrouter": whole(
        "openrouter",
        "anthropic/claude-sonnet-4.5",
        "gen-1796-abc",
        StopReason.TOOL_CALLS,
        text="I read it.",
        reasoning="Look",
        calls=(asked("read", "toolu_01", path="a.md"),),
        usage=Usage(input_tokens=512, output_tokens=70, reasoning_tokens=11),
        raw={
            "provider": "openrouter",
            "model": "m-1",
            "message": {
                "reasoning_details": [
                    {
                        "type": "reasoning.text",
                        "text": "Look",
                        "index": 0,
                        "format": "anthropic-claude-v1",
                        "signature": "EqQB/=",
                    }
                ]
            },
            "calls": [{}],
        },
    ),
    "groq": whole(
        "groq",
        "openai/gpt-oss-120b",
        "chatcmpl-6c1",
        StopReason.END,
        text="It is done.",
        reasoning="Hm.",
        usage=Usage(input_tokens=77, output_tokens=12),
    ),
    "mistral": whole(
        "mistral",
        "mistral-large-latest",
        "5b1c0a",
        StopReason.TOOL_CALLS,
        calls=(asked("read", "D681PevKs", path="a.md"), asked("grep", "q9XnKy2Lw", pattern="x|y", limit=3)),
        usage=Usage(input_tokens=94, output_tokens=35),
    ),
    "deepseek": whole(
        "deepseek",
        "deepseek-v4-flash",
        "d1c2",
        StopReason.END,
        text="Nothing new.",
        reasoning="Sum up.",
        usage=Usage(input_tokens=900, output_tokens=14, cache_read_tokens=832, reasoning_tokens=6),
        raw={"provider": "deepseek", "model": "m-1", "message": {"reasoning_content": "Sum up."}, "calls": []},
    ),
    "gemini": whole(
        "gemini",
        "gemini-3.1-flash-lite",
        "kVw2a",
        StopReason.TOOL_CALLS,
        calls=(asked("read", "function-call-17", path="a.md"), asked("read", "function-call-18", path="b.md")),
        usage=Usage(input_tokens=66, output_tokens=30),
        raw={
            "provider": "gemini",
            "model": "m-1",
            "message": {"extra_content": {"google": {"thought": True}}},
            "calls": [{"extra_content": {"google": {"thought_signature": "CiQB0e=="}}}, {}],
        },
    ),
    "lmstudio": whole(
        "lmstudio",
        "qwen3-4b",
        "chatcmpl-q0p",
        StopReason.TOOL_CALLS,
        text="I'll look.",
        calls=(asked("list_dir", "365174485", path="/tmp"),),
        usage=Usage(input_tokens=263, output_tokens=34),
    ),
    "function-call": whole(
        "function-call",
        "old-1",
        "cmpl-0",
        StopReason.TOOL_CALLS,
        calls=(asked("read", path="a.md"),),
        usage=Usage(input_tokens=estimate(asks()), output_tokens=4),
    ),
    "cut-call": whole(
        "cut-call",
        "gpt-5.4-mini-2026-03-05",
        "chatcmpl-C1aZ",
        StopReason.LENGTH,
        text="I'll write it.",
        calls=(asked("write", "call_W", unparsed='{"path":"a.md","content":"On'),),
        usage=Usage(input_tokens=1210, output_tokens=4096),
    ),
}


def test_every_recorded_stream_is_read() -> None:
    assert REPLIES.keys() | {"openrouter-error"} == STREAMS.keys()


@pytest.mark.parametrize("name", REPLIES)
def test_a_servers_stream_gives_what_it_meant(name: str) -> None:
    assert read_chunks([STREAMS[name]], provider_of(name))[1] == REPLIES[name]


def test_an_error_after_half_an_answer_is_an_error() -> None:
    with pytest.raises(ModelUnavailableError, match="Provider disconnected unexpectedly") as caught:
        read_chunks([STREAMS["openrouter-error"]], provider_of("openrouter"))
    assert caught.value.fault is Fault.SERVER


def reply_of(stream: bytes, provider: Provider) -> ModelReply | None:
    """Return the reply of a stream that ends here; None where that is not one."""
    reader, decoder = SseReader(), ChatDecoder(provider, asks())
    try:
        for event in (*reader.feed(stream), *last_events(reader)):
            decoder.feed(event)
        return decoder.reply()
    except ModelUnavailableError:
        return None


@pytest.mark.parametrize("name", REPLIES)
def test_a_stream_that_ends_at_any_byte_is_its_whole_reply_or_none(name: str) -> None:
    stream, provider, wanted = STREAMS[name], provider_of(name), REPLIES[name]
    finish = re.search(rb'"finish_reason":"', stream)
    assert finish is not None
    said_its_end = stream.index(b"\n", finish.start())
    for end in range(len(stream)):
        reply = reply_of(stream[:end], provider)
        if end < said_its_end:
            assert reply is None
        else:
            assert reply is not None
            assert (reply.text, reply.calls, reply.stop) == (wanted.text, wanted.calls, wanted.stop)


def test_an_error_that_is_cut_off_at_any_byte_is_no_reply() -> None:
    stream = STREAMS["openrouter-error"]
    assert {reply_of(stream[:end], PROVIDER) for end in range(len(stream) + 1)} == {None}


# What the library reads only as the protocol's text says; these streams differ from it where calls are told apart.
BY_THE_TEXT = sorted(REPLIES.keys() - {"ollama", "gemini", "function-call"})


@pytest.mark.parametrize("name", BY_THE_TEXT)
def test_openais_own_library_reads_the_same(name: str) -> None:
    reply = REPLIES[name]
    calls = [(call.provider_id, call.tool, call.unparsed or call.args) for call in reply.calls]
    counted = None if name in UNCOUNTED else (reply.usage.input_tokens, reply.usage.output_tokens)
    assert read_by_library(STREAMS[name]) == (reply.text, calls, counted)


UNCOUNTED = {"azure-filtered", "groq"}  # The one has no count, the other has it in a field of its own.


def read_by_library(stream: bytes) -> tuple[str, list[tuple[str, str, object]], tuple[int, int] | None]:
    answer = httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=stream)
    counted = None
    with (
        httpx2.Client(transport=httpx2.MockTransport(lambda _: answer)) as http,
        openai.OpenAI(api_key=KEY, base_url="http://127.0.0.1:9/v1", http_client=http, max_retries=0) as client,
    ):
        state = ChatCompletionStreamState[None]()
        for chunk in client.chat.completions.create(model="m-1", messages=[], stream=True):
            if chunk.usage:
                counted = (chunk.usage.prompt_tokens, chunk.usage.completion_tokens)
            if chunk.choices:
                state.handle_chunk(chunk)
    message = state.current_completion_snapshot.choices[0].message
    calls = [(call.id, call.function.name, value_of(call.function.arguments)) for call in message.tool_calls or []]
    return message.content or message.refusal or "", calls, counted


def value_of(arguments: str) -> object:
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments
