"""Tokens of a Messages reply: said at its start, corrected at its end, and never added up."""

from __future__ import annotations

import json

import pytest
from pydantic import JsonValue

from kova_auto.core.message import Usage
from kova_auto.llm.anthropic_messages.decode import MessagesDecoder
from kova_auto.llm.estimate import estimated
from kova_auto.llm.sse import SseEvent
from tests.llm.chat_stream import asks
from tests.llm.messages_stream import CLAUDE, Event, begins, ends, grows, opens, read, read_chunks, sse, text, told


@pytest.mark.parametrize(
    ("start", "end", "usage"),
    [
        ((12, 1, {}), {}, Usage(input_tokens=12, output_tokens=9)),
        (
            (12, 1, {"cache_creation_input_tokens": 5, "cache_read_input_tokens": 100}),
            {},
            Usage(input_tokens=117, output_tokens=9, cache_write_tokens=5, cache_read_tokens=100),
        ),
        (
            (117, 1, {}),
            {"input_tokens": 12, "cache_creation_input_tokens": 5, "cache_read_input_tokens": 100},
            Usage(input_tokens=117, output_tokens=9, cache_write_tokens=5, cache_read_tokens=100),
        ),
        ((12, 1, {}), {"input_tokens": 0, "cache_read_input_tokens": 0}, Usage(input_tokens=12, output_tokens=9)),
        ((12, 1, {}), {"input_tokens": None, "cache_read_input_tokens": "7"}, Usage(input_tokens=12, output_tokens=9)),
        ((0, 0, {}), {"input_tokens": 12.0}, Usage(input_tokens=12, output_tokens=9)),
        (
            (12, 1, {}),
            {"output_tokens_details": {"thinking_tokens": 4}},
            Usage(input_tokens=12, output_tokens=9, reasoning_tokens=4),
        ),
    ],
)
def test_the_end_corrects_the_count_and_nothing_is_added_up(
    start: tuple[int, int, dict[str, JsonValue]], end: dict[str, JsonValue], usage: Usage
) -> None:
    seed, written, more = start
    stop: Event = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9, **end}}
    assert read(begins(seed, written, **more), text(0, "Hi."), stop).usage == usage


def test_a_count_that_grows_with_each_event_is_taken_once() -> None:
    counts = [ends(None, output, input_tokens=12)[0] for output in (3, 5)]
    assert read(begins(), text(0, "Hi."), counts, ends()).usage == Usage(input_tokens=12, output_tokens=9)


def test_a_server_that_never_counts_is_estimated_so_that_a_ceiling_holds() -> None:
    reply = read(begins(0, 0), text(0, "x" * 400), ends(output_tokens=0))
    assert reply.usage == estimated(asks(), 400)


def test_a_first_count_of_the_output_is_not_taken_for_the_last() -> None:
    reply = read(begins(12, 1), text(0, "x" * 400), {"type": "message_stop"})
    assert reply.usage == Usage(input_tokens=12, output_tokens=100)


def test_the_count_of_one_whole_body_is_the_last() -> None:
    body: Event = {"type": "message", "content": [{"type": "text", "text": "x" * 400}], "stop_reason": "end_turn"}
    usage: JsonValue = {"input_tokens": 12, "output_tokens": 9}
    assert read({**body, "usage": usage}).usage == Usage(input_tokens=12, output_tokens=9)


def test_what_a_failed_stream_has_used_is_known() -> None:
    decoder = MessagesDecoder(CLAUDE, asks())
    assert decoder.spent is None
    for event in (begins(), opens(0, "text", text=""), grows(0, "text_delta", text="Half an ans")):
        decoder.feed(SseEvent("", json.dumps(event)))
    assert decoder.spent == Usage(input_tokens=12, output_tokens=1)


@pytest.mark.parametrize("number", ["1e999", "-1", "true", "[]"])
def test_a_count_that_is_no_number_counts_nothing(number: str) -> None:
    stream = sse(told(begins(), text(0, "Hi."), ends(input_tokens=7777))).replace(b"7777", number.encode())
    assert read_chunks([stream])[1].usage == Usage(input_tokens=12, output_tokens=9)
