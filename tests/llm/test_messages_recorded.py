"""Streams as the service and its imitators send them, whole, in pieces, and cut at every byte."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kova_auto.core.errors import ContextOverflowError, ModelError, ModelUnavailableError
from kova_auto.core.fault import Fault
from kova_auto.core.message import ModelReply, Usage
from kova_auto.core.stop_reason import StopReason
from kova_auto.llm.anthropic_messages.blocks import Body
from tests.llm.chat_stream import asked
from tests.llm.messages_stream import RECORDED, answered


def kept(*blocks: Body) -> Body:
    return {"provider": "anthropic", "model": "m-1", "content": list(blocks)}


REPLIES = {
    "text": ModelReply(
        text='Two files changed: café.md 🚀 and "a\\b".\n',
        stop=StopReason.END,
        usage=Usage(input_tokens=2383, output_tokens=19, cache_read_tokens=2048, cache_write_tokens=310),
        model="anthropic/claude-sonnet-4-5-20250929",
        request_id="msg_01XFDUDYJgAACzvnptvVoYEL",
    ),
    "thinking-tools": ModelReply(
        text="I'll read both.",
        reasoning="The user wants both files.\n\n",
        calls=(
            asked("read", "toolu_01T1x1fJ34qAmk2tNTrN7Up6", path="docs/über.md", limit=20),
            asked("todo_list", "toolu_01A09q90qw90lq917835lq9"),
        ),
        stop=StopReason.TOOL_CALLS,
        usage=Usage(input_tokens=472, output_tokens=189, reasoning_tokens=61),
        model="anthropic/claude-opus-5-5",
        request_id="msg_019LBLYFJ7fG3fuAqzuRQbyi",
        raw=kept(
            {
                "type": "thinking",
                "thinking": "The user wants both files.\n\n",
                "signature": "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds+/=",
            },
            {
                "type": "redacted_thinking",
                "data": "EmwKAhgBEgy3va3pzix/LafPsn4aDFIT2Xlxh0L5L8rLVyIwxtE3rAFBa8cr3qpPkNRj2YfWXGmKDxH4mPnZ5sQ7v==",
            },
            {"type": "text", "text": "I'll read both."},
            {"type": "tool_use", "id": "toolu_01T1x1fJ34qAmk2tNTrN7Up6", "name": "read", "input": {}},
            {"type": "tool_use", "id": "toolu_01A09q90qw90lq917835lq9", "name": "todo_list", "input": {}},
        ),
    ),
    "search-pause": ModelReply(
        text="I'll look it up.\n\nIt is sunny, so far.",
        stop=StopReason.PAUSED,
        usage=Usage(input_tokens=10682, output_tokens=510),
        model="anthropic/claude-sonnet-5-5",
        request_id="msg_01G6kzTsyRZZXrJGPzYXdZyN",
        raw=kept(
            {"type": "text", "text": "I'll look it up."},
            {
                "type": "server_tool_use",
                "id": "srvtoolu_014hJH82Qum7Td6UV8gDXThB",
                "name": "web_search",
                "input": {"query": "weather NYC today"},
            },
            {
                "type": "web_search_tool_result",
                "tool_use_id": "srvtoolu_014hJH82Qum7Td6UV8gDXThB",
                "content": [
                    {
                        "type": "web_search_result",
                        "title": "Weather in New York City",
                        "url": "https://weather.example/nyc",
                        "encrypted_content": "Ev0DCioIAxgCIiQ3NmU4ZmI4OC1k",
                        "page_age": None,
                    }
                ],
            },
            {
                "citations": [
                    {
                        "type": "web_search_result_location",
                        "cited_text": "Sunny, 21 degrees",
                        "url": "https://weather.example/nyc",
                        "title": "Weather in New York City",
                        "encrypted_index": "Eo8BCioIAhgBIiQyYjQ0OWJmZi1lNm",
                    }
                ],
                "type": "text",
                "text": "It is sunny",
            },
            {"type": "text", "text": ", so far."},
        ),
    ),
    "refusal": ModelReply(
        text="",
        calls=(asked("write", "toolu_01Refused", unparsed='{"path": "a.md"}'),),
        stop=StopReason.REFUSED,
        stop_detail="bio: This request could enable biological harm.",
        usage=Usage(input_tokens=564, output_tokens=22),
        model="anthropic/claude-opus-5-5",
        request_id="msg_01Refuse",
    ),
    "cut-call": ModelReply(
        text="",
        calls=(
            asked("read", "toolu_01Whole", unparsed='{"path": "a.md"}'),
            asked("write", "toolu_01Half", unparsed='{"path": "b.md", "content": "Once upon'),
        ),
        stop=StopReason.LENGTH,
        usage=Usage(input_tokens=900, output_tokens=64),
        model="anthropic/claude-haiku-4-5-20251001",
        request_id="msg_01Cut",
    ),
    "gateway": ModelReply(
        text="Hello",
        calls=(asked("grep", "call|1", pattern="x"),),
        stop=StopReason.TOOL_CALLS,
        usage=Usage(input_tokens=146, output_tokens=12, cache_read_tokens=100, cache_write_tokens=6),
        model="anthropic/glm-5",
        request_id="msg_gw",
        raw=kept(
            {"type": "aside", "note": {"deep": [1, 2]}},
            {"type": "text", "text": "Hello"},
            {"type": "tool_use", "id": "call|1", "name": "grep", "input": {}},
        ),
    ),
    "empty": ModelReply(
        text="",
        stop=StopReason.END,
        usage=Usage(input_tokens=1208, output_tokens=3),
        model="anthropic/claude-sonnet-5-5",
        request_id="msg_01Empty",
    ),
    "whole": ModelReply(
        text="One moment.",
        reasoning="Hm.",
        calls=(asked("read", "toolu_01B", path="a.md"),),
        stop=StopReason.TOOL_CALLS,
        usage=Usage(input_tokens=20, output_tokens=9, cache_read_tokens=5, cache_write_tokens=3),
        model="anthropic/claude-haiku-4-5-20251001",
        request_id="msg_01Body",
        raw=kept(
            {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
            {"type": "text", "text": "One moment."},
            {"type": "tool_use", "id": "toolu_01B", "name": "read", "input": {}},
        ),
    ),
}
FAILURES = {
    "overloaded": (ModelUnavailableError, Fault.OVERLOADED),
    "window": (ContextOverflowError, Fault.OVERFLOW),
}


def test_every_recorded_stream_is_tested() -> None:
    assert set(RECORDED) == {*REPLIES, *FAILURES}


@pytest.mark.parametrize("name", REPLIES)
async def test_a_recorded_stream_is_one_reply(name: str) -> None:
    assert await answered(RECORDED[name]) == REPLIES[name]


@pytest.mark.parametrize("name", REPLIES)
def test_a_reply_is_the_same_after_it_was_written_down(name: str) -> None:
    assert ModelReply.model_validate_json(REPLIES[name].model_dump_json()) == REPLIES[name]


@pytest.mark.parametrize("name", FAILURES)
async def test_a_recorded_failure_is_never_a_reply(name: str) -> None:
    error = await failure(RECORDED[name])
    assert (type(error), error.fault) == FAILURES[name]


@pytest.mark.parametrize("name", [*REPLIES, *FAILURES])
async def test_a_recorded_stream_that_ends_at_any_byte_is_whole_or_no_reply(name: str) -> None:
    stream = RECORDED[name]
    said_its_end = end_of(stream)
    for end in range(said_its_end):
        error = await failure(stream[:end])
        assert (type(error), error.fault in (Fault.TRUNCATED, Fault.MALFORMED)) == (ModelUnavailableError, True)
    for end in range(said_its_end, len(stream)):
        if name in REPLIES:
            assert await answered(stream[:end]) == REPLIES[name]
        else:
            assert type(await failure(stream[:end])) is FAILURES[name][0]


async def failure(stream: bytes) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await answered(stream)
    return caught.value


def end_of(stream: bytes) -> int:
    """Return where what ends the reply has come in whole: the stop reason, an error, or the only body."""
    said = max(stream.find(b'"type":"message_delta"'), stream.find(b'"type":"error"'))
    end = len(stream) if said < 0 else stream.index(b"\n", said)
    return len(stream[:end].rstrip())


@settings(deadline=None)
@given(st.sampled_from(sorted(REPLIES)), st.lists(st.integers(0, 3500), max_size=20))
def test_any_cut_of_the_bytes_gives_the_same_reply(name: str, cuts: list[int]) -> None:
    stream = RECORDED[name]
    places = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    pieces = (stream[start:end] for start, end in pairwise(places))
    assert asyncio.run(answered(*pieces)) == REPLIES[name]
