"""A Responses stream as the service sends it, read to its end or refused."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from kova_auto.core.message import CallDelta, ModelReply, ReasoningDelta, TextDelta, Usage
from kova_auto.core.stop_reason import StopReason
from kova_auto.llm.estimate import estimate
from kova_auto.llm.openai_responses.decode import ResponsesDecoder
from kova_auto.llm.sse import SseEvent, SseReader
from tests.llm.chat_stream import PROVIDER, asked, asks
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
    reasoning,
    refused_part,
    response,
    said,
    sse,
    told,
    usage,
    whole,
)

ITEMS = (
    reasoning("Think 🚀."),
    message(said("Let me look: é.")),
    function_call('{"path":"README.md"}'),
    function_call('{"pattern":"é"}', "grep", 2),
)
FULL = whole(*ITEMS, usage=usage(120, 30, cached=64, written=8, thought=9))
WHOLE = ModelReply(
    text="Let me look: é.",
    reasoning="Think 🚀.",
    calls=(asked("read", "call_1", path="README.md"), asked("grep", "call_2", pattern="é")),
    stop=StopReason.TOOL_CALLS,
    usage=Usage(input_tokens=120, output_tokens=30, cache_read_tokens=64, cache_write_tokens=8, reasoning_tokens=9),
    model="acme/m-1-0601",
    request_id="resp_1",
    raw={"provider": "acme", "model": "m-1", "output": list(ITEMS)},
)
CALL = asked("read", "call_1", path="a")
WRITTEN = function_call('{"path":"a"}')


def test_a_stream_becomes_pieces_to_show_and_one_whole_reply() -> None:
    seen, reply = read_stream(sse(*FULL))
    assert reply == WHOLE
    assert "".join(chunk.text for chunk in seen if isinstance(chunk, ReasoningDelta)) == "Think 🚀."
    assert "".join(chunk.text for chunk in seen if isinstance(chunk, TextDelta)) == "Let me look: é."
    assert [chunk.name for chunk in seen if isinstance(chunk, CallDelta)] == ["read", "grep"]


STREAMS = [sse(*FULL, end=end, ascii_only=is_ascii) for end in ("\n", "\r\n", "\r") for is_ascii in (True, False)]


@settings(deadline=None)
@given(st.sampled_from(STREAMS), st.lists(st.integers(0, max(map(len, STREAMS))), max_size=20))
def test_any_cut_of_the_bytes_gives_the_same_reply(stream: bytes, cuts: list[int]) -> None:
    places = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    reader, decoder = SseReader(), ResponsesDecoder(PROVIDER, asks())
    for start, end in pairwise(places):
        for one in reader.feed(stream[start:end]):
            decoder.feed(one)
    assert decoder.reply() == WHOLE


def test_nothing_more_is_read_after_the_end() -> None:
    decoder = ResponsesDecoder(PROVIDER, asks())
    states = []
    for one in events_in(sse(*whole(WRITTEN))):
        decoder.feed(one)
        states.append((decoder.ended, decoder.closed))
    assert set(states[:-1]) == {(False, False)}
    assert states[-1] == (True, True)


def test_what_comes_after_the_end_changes_nothing() -> None:
    late: Json = {"type": "error", "code": "server_error", "message": "no"}
    assert read(*FULL, late, "{", "[DONE]") == WHOLE


def test_only_content_is_progress() -> None:
    events = [*begun(), *told(reasoning("Think")), *told(message(said("Hi")), 1), *told(WRITTEN, 2), completed()]
    decoder = ResponsesDecoder(PROVIDER, asks())
    moved = []
    for one in events_in(sse(*events, event("output_text.delta", item_id="msg_9", delta=""))):
        before = decoder.progress
        decoder.feed(one)
        if decoder.progress > before:
            moved.append(one.name)
    assert moved == [
        "response.reasoning_summary_text.delta",
        "response.output_text.delta",
        *["response.function_call_arguments.delta"] * 3,
    ]


@pytest.mark.parametrize(
    ("reason", "stop", "detail"),
    [
        ("max_output_tokens", StopReason.LENGTH, ""),
        ("max_messages", StopReason.LENGTH, ""),
        ("content_filter", StopReason.REFUSED, "content_filter"),
    ],
)
@pytest.mark.parametrize("kind", ["incomplete", "completed"])
def test_a_cut_reply_says_why_and_executes_nothing(reason: str, stop: StopReason, detail: str, kind: str) -> None:
    cut = function_call('{"path":"a"}', status="incomplete")
    details: Json = {"status": "incomplete", "incomplete_details": {"reason": reason}}
    reply = read(*begun(), *told(message(said("Half."))), *told(cut, 1), ended(kind, **details))
    assert (reply.text, reply.stop, reply.stop_detail) == ("Half.", stop, detail)
    assert reply.calls == (asked("read", "call_1", unparsed='{"path":"a"}'),)


def test_a_call_that_was_not_finished_is_not_executed_though_the_reply_was() -> None:
    assert read(*whole(function_call('{"path":"a"}', status="incomplete"))).calls == (
        asked("read", "call_1", unparsed='{"path":"a"}'),
    )


@pytest.mark.parametrize(("limit", "stop"), [(30, StopReason.LENGTH), (31, StopReason.TOOL_CALLS)])
def test_a_reply_as_long_as_it_may_be_is_taken_for_cut(limit: int, stop: StopReason) -> None:
    request = asks().model_copy(update={"max_output_tokens": limit})
    reply = read(*whole(WRITTEN), request=request)
    assert (reply.stop, reply.calls[0].unparsed is None) == (stop, stop is StopReason.TOOL_CALLS)


def test_a_refusal_is_a_reply_of_its_own_kind() -> None:
    seen, reply = read_stream(sse(*whole(message(refused_part("I cannot.")), WRITTEN)))
    assert [chunk.text for chunk in seen if isinstance(chunk, TextDelta)] == ["I can", "not."]
    assert (reply.text, reply.stop, reply.stop_detail) == ("I cannot.", StopReason.REFUSED, "I cannot.")
    assert reply.calls == (asked("read", "call_1", unparsed='{"path":"a"}'),)


def test_a_refusal_without_a_word_is_one_all_the_same() -> None:
    reply = read(*begun(), completed(message(refused_part(""))))
    assert (reply.text, reply.stop, reply.stop_detail) == ("", StopReason.REFUSED, "refusal")


@pytest.mark.parametrize("output", [(), (message(said("")),)])
def test_an_empty_reply_that_says_its_end_is_a_reply(output: tuple[Json, ...]) -> None:
    reply = read(*begun(), completed(*output))
    assert (reply.text, reply.calls, reply.stop) == ("", (), StopReason.END)


def test_reasoning_alone_is_a_reply_without_text() -> None:
    reply = read(*whole(reasoning("Hm.")))
    assert (reply.reasoning, reply.text, reply.stop) == ("Hm.", "", StopReason.END)


def test_reasoning_in_full_goes_before_its_summary() -> None:
    thought = reasoning("short", content=[{"type": "reasoning_text", "text": "in full"}])
    assert read(*begun(), completed(thought, reasoning("more", number=2))).reasoning == "in full"


def test_several_messages_are_paragraphs() -> None:
    first, second = message(said("One"), said(".")), message(said("Two."), id="msg_2")
    assert read(*whole(first, message(said(""), id="msg_3"), second)).text == "One.\n\nTwo."


def test_what_is_said_on_the_way_is_no_part_of_the_final_answer() -> None:
    commentary = message(said("I will look."), phase="commentary")
    answer = message(said('{"a": 1}'), id="msg_2", phase="final_answer")
    assert read(*whole(commentary, answer)).text == '{"a": 1}'
    assert read(*whole(commentary, WRITTEN)).text == "I will look."


@pytest.mark.parametrize(
    ("arguments", "call"),
    [
        ("", asked("read", "call_1")),
        ("{}", asked("read", "call_1")),
        ('{"path": "a', asked("read", "call_1", unparsed='{"path": "a')),
        ('["a"]', asked("read", "call_1", unparsed='["a"]')),
        ('{"n": NaN}', asked("read", "call_1", unparsed='{"n": NaN}')),
    ],
)
def test_arguments_are_an_object_or_nothing_to_execute(arguments: str, call: object) -> None:
    reply = read(*whole(function_call(arguments)))
    assert (reply.calls, reply.stop) == ((call,), StopReason.TOOL_CALLS)


def test_a_call_of_a_custom_tool_is_never_executed() -> None:
    item: Json = {"id": "ctc_1", "type": "custom_tool_call", "call_id": "call_1", "name": "read", "input": "{}"}
    seen, reply = read_stream(sse(*whole(item)))
    assert (seen, reply.calls) == ([CallDelta(name="read")], (asked("read", "call_1", unparsed="{}"),))


@pytest.mark.parametrize(
    "odd",
    [
        {"type": "keepalive"},
        {"type": "ping", "detail": "x"},
        {"type": "rate_limits.updated", "rate_limits": []},
        event("web_search_call.searching", output_index=0, item_id="ws_1"),
        event("mcp_call.failed", output_index=0, item_id="mcp_1", error="x"),
        event("output_text.annotation.added", output_index=0, item_id="msg_1", annotation={}),
        event("future.delta", delta="x"),
        event("output_text.delta", item_id=7, output_index="x", content_index=None, delta=None),
        event("output_item.added", item=None),
        event("output_item.done"),
        event("content_part.done", part=None),
        event("content_part.done", item_id="msg_1", output_index=0, part={"type": "output_audio", "text": "x"}),
        event("created"),
        event("queued", response=response("queued")),
        "{}",
    ],
)
def test_what_nobody_needs_is_passed_over(odd: Json | str) -> None:
    hello = told(message(said("Hi.")))
    assert read(*begun(), *hello[:3], odd, *hello[3:], completed()).text == "Hi."


def test_unknown_items_are_kept_as_they_came() -> None:
    searched: Json = {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": {"type": "search"}}
    reply = read(*whole(searched, message(said("Hi."))))
    assert reply.text == "Hi."
    assert reply.raw == {"provider": "acme", "model": "m-1", "output": [searched, message(said("Hi."))]}


def test_what_cannot_be_stored_as_it_is_is_not_kept() -> None:
    deep: JsonValue = "x"
    for _ in range(200):
        deep = [deep]
    assert read(*whole(message(said("Hi."), extra=deep))).raw is None


@pytest.mark.parametrize(
    ("count", "counted"),
    [
        (
            usage(12, 3, cached=8, written=2, thought=1),
            Usage(input_tokens=12, output_tokens=3, cache_read_tokens=8, cache_write_tokens=2, reasoning_tokens=1),
        ),
        ({"input_tokens": 12, "output_tokens": 3}, Usage(input_tokens=12, output_tokens=3)),
        ({"input_tokens": 12.0, "output_tokens": -3, "input_tokens_details": None}, Usage(input_tokens=12)),
        (
            {"input_tokens": 4, "output_tokens": 3, "input_tokens_details": {"cached_tokens": 8}},
            Usage(input_tokens=12, output_tokens=3, cache_read_tokens=8),
        ),
    ],
)
def test_cached_input_is_part_of_the_input(count: Json, counted: Usage) -> None:
    assert read(*whole(message(said("Hi.")), usage=count)).usage == counted


@pytest.mark.parametrize("count", [None, {}, {"input_tokens": 0, "output_tokens": 0}, "x"])
def test_a_server_that_never_counts_is_estimated_so_that_a_ceiling_holds(count: JsonValue) -> None:
    reply = read(*whole(message(said("x" * 396)), function_call("{ }"), reasoning("y", number=2), usage=count))
    assert reply.usage == Usage(input_tokens=estimate(asks()), output_tokens=100)


def test_a_count_is_never_added_up() -> None:
    assert read(event("in_progress", response=response("in_progress", usage=usage(12, 1))), completed()).usage == Usage(
        input_tokens=120, output_tokens=30
    )


def test_text_torn_inside_a_character_is_shown_whole() -> None:
    events = [event("output_text.delta", item_id="m", output_index=0, delta=text) for text in ("a\ud83d", "\ude80b")]
    seen, reply = read_stream(sse(*events, completed(), ascii_only=True))
    assert (seen, reply.text) == ([TextDelta(text="a"), TextDelta(text="🚀b")], "a🚀b")


def test_half_a_character_anywhere_still_gives_a_reply_that_can_be_written_down() -> None:
    half = "x\ud83d"
    items = [message(said(half)), function_call('{"a": "\\ud83d"}', name=half, call_id=half), reasoning(half)]
    reply = read_stream(sse(completed(*items, model=half, id=half), ascii_only=True))[1]
    assert ModelReply.model_validate_json(reply.model_dump_json()) == reply


def test_the_servers_own_request_id_goes_before_the_response() -> None:
    decoder = ResponsesDecoder(PROVIDER, asks())
    decoder.feed(SseEvent("", json.dumps(completed())))
    assert decoder.reply("req-9").request_id == "req-9"


def test_a_server_that_names_no_model_is_taken_at_its_word() -> None:
    assert read(event("completed", response={"output": [message(said("x"))]})).model == "acme/m-1"
