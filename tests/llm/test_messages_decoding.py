"""A Messages stream read to its end, or refused."""

from __future__ import annotations

import json

import pytest
from pydantic import JsonValue

from kova_auto.core.errors import ContextOverflowError, ModelError, ModelRefusedError, ModelUnavailableError
from kova_auto.core.fault import Fault
from kova_auto.core.message import CallDelta, CallRequest, ModelReply, ReasoningDelta, TextDelta
from kova_auto.core.stop_reason import StopReason
from kova_auto.llm.anthropic_messages.decode import MessagesDecoder
from kova_auto.llm.sse import SseEvent
from tests.llm.chat_stream import KEY, asked, asks
from tests.llm.messages_stream import (
    CLAUDE,
    Event,
    begins,
    call,
    closes,
    ends,
    grows,
    opens,
    read,
    read_chunks,
    sse,
    text,
    thinking,
    told,
)

HALF = [begins(), opens(0, "text", text=""), grows(0, "text_delta", text="Half an ans")]


def refused(*events: Event | list[Event]) -> ModelError:
    with pytest.raises(ModelError) as caught:
        read(*events)
    return caught.value


def fed(*events: Event | list[Event]) -> MessagesDecoder:
    decoder = MessagesDecoder(CLAUDE, asks())
    for event in told(*events):
        decoder.feed(SseEvent("", json.dumps(event)))
    return decoder


def test_a_stream_becomes_pieces_to_show() -> None:
    stream = told(begins(), thinking(0, "Both."), text(1, "I ", "", "read."), call(2, '{"a": 1}'), ends("tool_use"))
    assert read_chunks([sse(stream)])[0] == [
        ReasoningDelta(text="Both."),
        TextDelta(text="I "),
        TextDelta(text="read."),
        CallDelta(name="read"),
    ]


@pytest.mark.parametrize(
    ("stop", "reason"),
    [
        ("end_turn", StopReason.END),
        ("stop_sequence", StopReason.END),
        ("max_tokens", StopReason.LENGTH),
        ("pause_turn", StopReason.PAUSED),
    ],
)
def test_a_stop_reason_says_why_the_reply_ended(stop: str, reason: StopReason) -> None:
    reply = read(begins(), text(0, "Hi."), ends(stop))
    assert (reply.stop, reply.text) == (reason, "Hi.")


@pytest.mark.parametrize("stop", ["tool_use", "end_turn", "pause_turn", "stop_sequence"])
def test_calls_decide_over_a_stop_reason_that_does_not_know_of_them(stop: str) -> None:
    reply = read(begins(), call(0, "{}"), ends(stop))
    assert (reply.stop, reply.calls) == (StopReason.TOOL_CALLS, (asked("read", "toolu_1"),))


def test_an_end_that_nobody_knows_is_no_end_to_build_on() -> None:
    error = refused(begins(), text(0, "Hi."), ends("compaction"))
    assert (type(error), str(error)) == (
        ModelUnavailableError,
        "anthropic ended its answer because of 'compaction'",
    )


def test_calls_that_are_announced_and_never_come_are_no_reply() -> None:
    error = refused(begins(), text(0, "I will read it."), ends("tool_use"))
    assert (error.fault, str(error)) == (
        Fault.MALFORMED,
        "anthropic said that the model calls tools, and named none",
    )


def test_a_window_that_was_full_is_an_overflow() -> None:
    error = refused(begins(), text(0, "Hi."), ends("model_context_window_exceeded"))
    assert (type(error), str(error)) == (
        ContextOverflowError,
        "anthropic ended its answer because the model's window was full",
    )


@pytest.mark.parametrize(
    "events",
    [
        [],
        [begins()],
        HALF,
        [begins(), text(0, "Hi.")],
        [begins(), call(0, "{}")],
        [begins(), text(0, "Hi."), ends(None)[:1]],
    ],
)
def test_a_stream_without_its_end_is_no_reply(events: list[Event | list[Event]]) -> None:
    error = refused(*events)
    assert (type(error), error.fault) == (ModelUnavailableError, Fault.TRUNCATED)
    assert str(error) == "anthropic broke the answer off before its end"


def test_a_sentinel_of_other_protocols_is_no_end() -> None:
    with pytest.raises(ModelUnavailableError, match="broke the answer off"):
        read_chunks([sse(HALF) + b"data: [DONE]\n\n"])


def test_a_stop_reason_ends_a_reply_without_message_stop() -> None:
    decoder = fed(begins(), text(0, "Hi."), ends()[:1])
    assert (decoder.ended, decoder.closed, decoder.reply().text) == (True, False, "Hi.")


def test_message_stop_ends_a_reply_without_a_stop_reason() -> None:
    decoder = fed(begins(), text(0, "Hi."), ends(None))
    assert (decoder.ended, decoder.closed, decoder.reply().stop) == (True, True, StopReason.END)


def test_a_reply_that_was_cut_stays_cut_whatever_is_said_after() -> None:
    reply = read(begins(), call(0, "{}"), ends("max_tokens")[:1], ends("tool_use"))
    assert (reply.stop, reply.calls) == (StopReason.LENGTH, (asked("read", "toolu_1", unparsed="{}"),))


def test_one_whole_body_closes_the_stream() -> None:
    body: Event = {"type": "message", "content": [{"type": "text", "text": "Hi."}], "stop_reason": "end_turn"}
    decoder = fed(body)
    assert (decoder.ended, decoder.closed, decoder.reply().text) == (True, True, "Hi.")


def test_one_whole_body_without_an_end_is_no_reply() -> None:
    body: Event = {"type": "message", "content": [{"type": "text", "text": "Hi."}], "stop_reason": None}
    assert refused(body).fault is Fault.TRUNCATED


@pytest.mark.parametrize("events", [[], [begins()]])
def test_an_end_with_nothing_before_it_is_no_reply(events: list[Event]) -> None:
    assert str(refused(*events, {"type": "message_stop"})) == "anthropic ended its answer without having said anything"


def test_thoughts_alone_are_a_reply_without_text() -> None:
    reply = read(begins(), thinking(0, "Hm."), ends())
    assert (reply.reasoning, reply.text, reply.stop) == ("Hm.", "", StopReason.END)


@pytest.mark.parametrize(
    ("details", "detail"),
    [
        ({"type": "refusal", "category": "cyber", "explanation": "No\nmalware."}, "cyber: No malware."),
        ({"type": "refusal", "category": None, "explanation": "No."}, "No."),
        ({"type": "refusal", "category": "bio", "explanation": None}, "bio"),
        (None, ""),
    ],
)
def test_a_refusal_says_why_and_has_no_text(details: JsonValue, detail: str) -> None:
    end: Event = {"type": "message_delta", "delta": {"stop_reason": "refusal", "stop_details": details}, "usage": {}}
    reply = read(begins(), text(0, "First, you"), end)
    assert (reply.stop, reply.stop_detail, reply.text, reply.raw) == (StopReason.REFUSED, detail, "", None)


@pytest.mark.parametrize(
    ("pieces", "given", "args"),
    [
        ((), None, {}),
        (("",), None, {}),
        (("", '{"pa', 'th": "a', '.md"}'), None, {"path": "a.md"}),
        ((), {"path": "a.md"}, {"path": "a.md"}),
        ((), '{"path": "a.md"}', {"path": "a.md"}),
        (('{"path": "b"}',), {"path": "a"}, {"path": "b"}),
    ],
)
def test_arguments_are_put_together_and_read_once(
    pieces: tuple[str, ...], given: JsonValue, args: dict[str, JsonValue]
) -> None:
    calls = read(begins(), call(0, *pieces, given=given), ends("tool_use")).calls
    assert calls == (CallRequest(tool="read", args=args, provider_id="toolu_1"),)


@pytest.mark.parametrize("written", ['{"path": "a', "[1]", "7", '{"a": 1} {"b": 2}', '{"a": "\\ud83d"}'])
def test_arguments_that_are_none_are_kept_as_they_are(written: str) -> None:
    calls = read(begins(), call(0, written), ends("tool_use")).calls
    assert calls == (asked("read", "toolu_1", unparsed=written),)


@pytest.mark.parametrize("stop", ["max_tokens", "refusal"])
def test_no_call_of_a_reply_that_was_cut_is_executable(stop: str) -> None:
    reply = read(begins(), call(0, '{"path": "a"}'), call(1, own="toolu_2"), ends(stop))
    assert reply.calls == (asked("read", "toolu_1", unparsed='{"path": "a"}'), asked("read", "toolu_2", unparsed=""))


def test_a_call_that_never_ended_is_one_without_arguments_only_if_it_says_so() -> None:
    silent, spoken = call(0)[:-1], call(1, "{}", own="toolu_2")[:-1]
    assert read(begins(), silent, spoken, ends("tool_use")).calls == (
        asked("read", "toolu_1", unparsed=""),
        asked("read", "toolu_2"),
    )


def test_calls_that_arrive_interleaved_are_kept_apart() -> None:
    starts = [opens(n, "tool_use", id=f"toolu_{n}", name="read", input={}) for n in (0, 1)]
    pieces = [(0, '{"a"'), (1, '{"b"'), (0, ": 1}"), (1, ": 2}")]
    deltas = [grows(index, "input_json_delta", partial_json=piece) for index, piece in pieces]
    reply = read(begins(), starts, deltas, closes(0), closes(1), ends("tool_use"))
    assert reply.calls == (asked("read", "toolu_0", a=1), asked("read", "toolu_1", b=2))


def test_an_index_that_is_used_again_begins_another_block() -> None:
    reply = read(begins(), text(0, "Hi."), call(0, '{"a": 1}'), call(0, '{"a": 2}', own="toolu_2"), ends("tool_use"))
    assert (reply.text, reply.calls) == ("Hi.", (asked("read", "toolu_1", a=1), asked("read", "toolu_2", a=2)))


@pytest.mark.parametrize(
    ("blocks", "whole"),
    [
        ([text(0, "It is"), text(1, " sunny.")], "It is sunny."),
        ([text(0, "I look."), thinking(1, "Hm."), text(2, "It", " is.")], "I look.\n\nIt is."),
        ([text(0, ""), thinking(1, "Hm."), text(2, "It is.")], "It is."),
    ],
)
def test_texts_with_something_between_them_are_paragraphs(blocks: list[list[Event]], whole: str) -> None:
    seen, reply = read_chunks([sse(told(begins(), *blocks, ends()))])
    assert reply.text == whole
    assert "".join(chunk.text for chunk in seen if isinstance(chunk, TextDelta)) == whole


@pytest.mark.parametrize(
    "odd",
    [
        {"type": "ping"},
        {"type": "something_new", "index": 0},
        {"type": 7},
        {"type": "message_delta", "delta": {"stop_reason": None}},
        {"type": "message_delta", "usage": None},
        grows(0, "something_new", text="x"),
        grows(0, "thinking_delta", thinking="x"),
        {"type": "content_block_delta", "index": 0, "delta": None},
    ],
)
def test_what_nobody_needs_is_passed_over(odd: Event) -> None:
    start, piece, stop = text(0, "Hi.")
    reply = read(begins(), start, odd, piece, odd, stop, ends(), odd)
    assert (reply.text, reply.reasoning, reply.stop) == ("Hi.", "", StopReason.END)


@pytest.mark.parametrize(
    ("odd", "said"),
    [
        (grows(4, "text_delta", text="x"), "went on with a block that it never began"),
        (closes(4), "went on with a block that it never began"),
        ({"type": "content_block_delta", "delta": {}}, "went on with a block that it never began"),
        ({"type": "content_block_start", "index": 4}, "began a block of no kind"),
    ],
)
def test_content_that_cannot_be_placed_is_an_error_to_try_again(odd: Event, said: str) -> None:
    error = refused(HALF, odd, ends())
    assert (type(error), error.fault, str(error)) == (ModelUnavailableError, Fault.MALFORMED, f"anthropic {said}")


@pytest.mark.parametrize("data", ["{", "<html>", '{"usage": NaN}', "[1]", '"x"', "7", "[" * 5000, f"denied for {KEY}"])
def test_a_piece_that_is_no_event_is_an_error_to_try_again(data: str) -> None:
    with pytest.raises(ModelUnavailableError) as caught:
        read_chunks([sse(HALF) + f"data: {data}\n\n".encode()])
    assert (caught.value.fault, KEY in str(caught.value)) == (Fault.MALFORMED, False)


@pytest.mark.parametrize(
    ("error", "kind", "fault"),
    [
        ({"type": "overloaded_error", "message": "Overloaded"}, ModelUnavailableError, Fault.OVERLOADED),
        ({"type": "api_error", "message": "Internal server error"}, ModelUnavailableError, Fault.SERVER),
        ({"type": "rate_limit_error", "message": "slow down"}, ModelUnavailableError, Fault.RATE_LIMITED),
        (
            {"type": "rate_limit_error", "message": "m", "details": {"error_code": "enforced_spend_limit_reached"}},
            ModelRefusedError,
            Fault.SPENT,
        ),
        (
            {"type": "invalid_request_error", "message": "prompt is too long: 9 > 8"},
            ContextOverflowError,
            Fault.OVERFLOW,
        ),
        ({"type": "authentication_error", "message": "invalid x-api-key"}, ModelRefusedError, Fault.AUTH),
    ],
)
@pytest.mark.parametrize("before", [[], HALF, [begins(), *text(0, "Hi."), *ends()]])
def test_an_error_inside_the_stream_is_an_error(
    before: list[Event], error: JsonValue, kind: type[ModelError], fault: Fault
) -> None:
    caught = refused(before, {"type": "error", "error": error, "request_id": "req_9"})
    assert (type(caught), caught.fault, caught.request_id) == (kind, fault, "req_9")


def test_an_event_that_is_called_error_is_one_whatever_its_shape() -> None:
    with pytest.raises(ModelUnavailableError, match="anthropic ended its answer with an error: busy"):
        read_chunks([sse(HALF) + b'event: error\ndata: {"message": "busy", "code": 529}\n\n'])


def test_only_content_is_progress() -> None:
    decoder = MessagesDecoder(CLAUDE, asks())
    steps = []
    for event in told(
        begins(),
        {"type": "ping"},
        thinking(0, "Hm."),
        text(1, "", "Hi."),
        call(2, "", "{}"),
        opens(3, "web_search_tool_result", content=[]),
        closes(3),
        ends("tool_use"),
    ):
        decoder.feed(SseEvent("", json.dumps(event)))
        steps.append(decoder.progress)
    assert steps == [0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 5, 5]


def test_text_torn_inside_a_character_is_shown_whole() -> None:
    stream = sse(told(begins(), text(0, "a\ud83d", "\ude80b"), ends()), ascii_only=True)
    seen, reply = read_chunks([stream])
    assert (seen, reply.text) == ([TextDelta(text="a"), TextDelta(text="🚀b")], "a🚀b")


def test_half_a_character_anywhere_still_gives_a_reply_that_can_be_written_down() -> None:
    start = begins()
    start["message"] = {"id": "\ud83d", "model": "m\ud83d", "usage": {}}
    blocks = [
        thinking(0, "\ude80", "\ud83d"),
        text(1, "x\ud83d"),
        call(2, '{"a": "\\ud83d"}', name="t\ud83d", own="\ud83d"),
    ]
    reply = read_chunks([sse(told(start, *blocks, ends("tool_use")), ascii_only=True)])[1]
    assert ModelReply.model_validate_json(reply.model_dump_json()) == reply


def test_the_servers_own_request_id_goes_before_the_messages() -> None:
    assert fed(begins(), text(0, "x"), ends()).reply("req-9").request_id == "req-9"


def test_a_server_that_names_no_model_is_taken_at_its_word() -> None:
    assert read(text(0, "x"), ends()).model == "anthropic/m-1"


def test_a_reply_that_our_own_form_says_in_full_is_not_kept_twice() -> None:
    assert read(begins(), thinking(0, "Hm.", ""), text(1, "Hi."), call(2, "{}"), ends("tool_use")).raw is None


def test_a_paused_reply_is_kept_whole_for_the_model_to_go_on_with() -> None:
    raw = read(begins(), text(0, "I look."), ends("pause_turn")).raw
    assert raw == {"provider": "anthropic", "model": "m-1", "content": [{"type": "text", "text": "I look."}]}


@pytest.mark.parametrize(
    "lost",
    [
        [opens(0, "server_tool_use", id="s", name="web_search", input={}), *call(0, '{"query": "x')[1:]],
        [opens(0, "newer", data="x"), grows(0, "newer_delta", data="y"), closes(0)],
        [opens(0, "newer", data="\ud83d"), closes(0)],
    ],
)
def test_a_reply_whose_blocks_are_not_all_there_is_kept_in_our_own_form_alone(lost: list[Event]) -> None:
    reply = read_chunks([sse(told(begins(), lost, thinking(1, "Hm."), text(2, "Hi."), ends()), ascii_only=True)])[1]
    assert (reply.raw, reply.text) == (None, "Hi.")


def test_a_signature_alone_is_a_thought_worth_keeping() -> None:
    hidden = [opens(0, "thinking", thinking="", signature=""), grows(0, "signature_delta", signature="s"), closes(0)]
    raw = read(begins(), hidden, text(1, "Hi."), ends()).raw
    assert isinstance(raw, dict)
    assert raw["content"] == [{"type": "thinking", "thinking": "", "signature": "s"}, {"type": "text", "text": "Hi."}]
