"""A Chat Completions stream read to its end, or refused."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from kova_auto.core.errors import ContextOverflowError, ModelError, ModelRefusedError, ModelUnavailableError
from kova_auto.core.message import CallDelta, ModelReply, ReasoningDelta, TextDelta, Usage
from kova_auto.core.provider import Dialect
from kova_auto.core.stop_reason import StopReason
from kova_auto.llm.openai_chat.decode import ChatDecoder
from kova_auto.llm.sse import SseEvent, SseReader
from tests.llm.chat_stream import (
    DONE,
    KEY,
    PROVIDER,
    Chunk,
    asked,
    asks,
    calls,
    delta,
    fragment,
    read,
    read_chunks,
    sse,
    usage,
)

FULL: list[Chunk | str] = [
    delta(role="assistant", content=""),
    delta(reasoning_content="Think 🚀."),
    delta(content="Let me "),
    delta(content="look: é."),
    calls(fragment("", index=0, id="c1", type="function", name="read")),
    calls(fragment('{"path": "R', index=0)),
    calls(fragment('EADME.md"}', index=0)),
    delta("tool_calls"),
    usage(120, 30, prompt_tokens_details={"cached_tokens": 64}, completion_tokens_details={"reasoning_tokens": 9}),
    DONE,
]
WHOLE = ModelReply(
    text="Let me look: é.",
    reasoning="Think 🚀.",
    calls=(asked("read", "c1", path="README.md"),),
    stop=StopReason.TOOL_CALLS,
    usage=Usage(input_tokens=120, output_tokens=30, cache_read_tokens=64, reasoning_tokens=9),
    model="acme/m-1-0601",
    request_id="chatcmpl-1",
)


def refused(*chunks: Chunk | str) -> ModelError:
    with pytest.raises(ModelError) as caught:
        read(*chunks)
    return caught.value


def test_a_stream_becomes_pieces_to_show_and_one_whole_reply() -> None:
    assert read_chunks([sse(*FULL)]) == (
        [
            ReasoningDelta(text="Think 🚀."),
            TextDelta(text="Let me "),
            TextDelta(text="look: é."),
            CallDelta(name="read"),
        ],
        WHOLE,
    )


STREAMS = [
    sse(*FULL, end=end, ascii_only=ascii_only) for end in ("\n\n", "\r\n\r\n", "\r\r") for ascii_only in (True, False)
]


@settings(deadline=None)
@given(st.sampled_from(STREAMS), st.lists(st.integers(0, max(map(len, STREAMS))), max_size=20))
def test_any_cut_of_the_bytes_gives_the_same_reply(stream: bytes, cuts: list[int]) -> None:
    places = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    assert read_chunks(stream[start:end] for start, end in pairwise(places))[1] == WHOLE


@pytest.mark.parametrize("stream", STREAMS)
def test_a_stream_that_ends_at_any_byte_is_whole_or_no_reply(stream: bytes) -> None:
    said_its_end = stream.index(b'"finish_reason": "tool_calls"') + len(b'"finish_reason": "tool_calls"}]}')
    for end in range(len(stream)):
        decoder, events = ChatDecoder(PROVIDER, asks()), _events(stream[:end])
        if end < said_its_end:
            with pytest.raises(ModelUnavailableError):
                _fed(decoder, events)
        elif end - said_its_end < 3:
            assert _fed(decoder, events).calls == WHOLE.calls


def _events(stream: bytes) -> list[SseEvent]:
    reader = SseReader()
    return [*reader.feed(stream), *reader.close()]


def _fed(decoder: ChatDecoder, events: list[SseEvent]) -> ModelReply:
    for event in events:
        decoder.feed(event)
    return decoder.reply()


def test_a_finish_reason_ends_a_reply_without_done() -> None:
    assert read(delta(content="Hi."), delta("stop")).text == "Hi."


def test_done_ends_a_reply_without_a_finish_reason() -> None:
    reply = read(delta(content="Hi."), DONE)
    assert (reply.text, reply.stop) == ("Hi.", StopReason.END)


@pytest.mark.parametrize(
    ("finish", "stop"),
    [
        ("stop", StopReason.END),
        ("eos_token", StopReason.END),
        ("length", StopReason.LENGTH),
        ("content_filter", StopReason.REFUSED),
        ("SAFETY", StopReason.REFUSED),
    ],
)
def test_a_finish_reason_says_why_the_reply_ended(finish: str, stop: StopReason) -> None:
    assert read(delta(content="Hi."), delta(finish), DONE).stop is stop


@pytest.mark.parametrize("finish", ["error", "network_error", "insufficient_system_resource", "abort", "what_is_this"])
def test_an_end_that_nobody_knows_is_no_end_to_build_on(finish: str) -> None:
    error = refused(delta(content="Hi."), delta(finish), DONE)
    assert (type(error), str(error)) == (ModelUnavailableError, f"acme ended its answer because of {finish!r}")


@pytest.mark.parametrize("chunks", [[], [delta(content="Hi.")], [delta(role="assistant")], [usage(3, 4)]])
def test_a_stream_without_its_end_is_no_reply(chunks: list[Chunk]) -> None:
    error = refused(*chunks)
    assert (type(error), error.retryable) == (ModelUnavailableError, True)


@pytest.mark.parametrize("chunks", [[DONE], [delta(role="assistant"), DONE], [usage(3, 0), DONE]])
def test_an_end_with_nothing_before_it_is_no_reply(chunks: list[Chunk | str]) -> None:
    assert str(refused(*chunks)) == "acme ended its answer without having said anything"


def test_an_empty_reply_that_says_its_end_is_a_reply() -> None:
    reply = read(delta(role="assistant", content=None), delta("stop"), DONE)
    assert (reply.text, reply.calls, reply.stop) == ("", (), StopReason.END)


def test_reasoning_alone_is_a_reply_without_text() -> None:
    reply = read(delta(reasoning="Hm."), delta("stop"), DONE)
    assert (reply.reasoning, reply.text, reply.stop) == ("Hm.", "", StopReason.END)


def test_calls_that_are_announced_and_never_come_are_no_reply() -> None:
    error = refused(delta(content="I will read it."), delta("tool_calls"), DONE)
    assert str(error) == "acme said that the model calls tools, and named none"


def test_a_refusal_is_a_reply_of_its_own_kind() -> None:
    seen, reply = read_chunks([sse(delta(refusal="I can"), delta(refusal="not."), delta("stop"), DONE)])
    assert seen == [TextDelta(text="I can"), TextDelta(text="not.")]
    assert (reply.text, reply.stop) == ("I cannot.", StopReason.REFUSED)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"message": "busy", "type": "overloaded_error"}, ModelUnavailableError),
        ({"message": "busy", "code": 503}, ModelUnavailableError),
        ({"message": "no", "code": "insufficient_quota"}, ModelRefusedError),
        ({"message": "too long", "code": "context_length_exceeded"}, ContextOverflowError),
        ("went away", ModelUnavailableError),
    ],
)
@pytest.mark.parametrize("before", [[], [delta(content="Half an ans")], [delta(content="Hi."), delta("stop")]])
def test_an_error_inside_the_stream_is_an_error(before: list[Chunk], error: JsonValue, kind: type[ModelError]) -> None:
    assert type(refused(*before, {"error": error}, DONE)) is kind


def test_an_event_that_is_called_error_is_one_whatever_its_shape() -> None:
    stream = sse(delta(content="Hi.")) + b'event: error\ndata: {"message": "busy", "code": 529}\n\n' + sse(DONE)
    with pytest.raises(ModelUnavailableError, match="acme ended its answer with an error: busy"):
        read_chunks([stream])


@pytest.mark.parametrize("text", ["{", '{"choices": [', "<html>", '{"usage": NaN}', "[1]", '"x"', "7", "[" * 5000])
def test_a_piece_that_is_no_chunk_is_an_error_to_try_again(text: str) -> None:
    assert type(refused(delta(content="Hi."), text, delta("stop"), DONE)) is ModelUnavailableError


def test_a_key_in_a_broken_piece_is_not_shown() -> None:
    assert KEY not in str(refused(f"denied for {KEY}"))


@pytest.mark.parametrize(
    "chunk",
    [
        {},
        {"choices": None},
        {"choices": [None, 7]},
        {"choices": [{"delta": None}]},
        {"choices": [{"index": 1, "delta": {"content": "another answer"}, "finish_reason": "stop"}]},
        {"choices": [], "prompt_filter_results": []},
        {"error": None, "choices": []},
        {"choices": [{"index": 0, "delta": {"content": 7, "role": "assistant", "tool_calls": None}}]},
        {"obfuscation": "aaaa", "choices": []},
    ],
)
def test_what_nobody_needs_is_passed_over(chunk: Chunk) -> None:
    assert read(delta(content="Hi"), chunk, delta("stop", content="."), DONE).text == "Hi."


def test_comments_and_named_pings_are_no_content() -> None:
    stream = (
        b": OPENROUTER PROCESSING\n\n" + sse(delta(content="Hi.")) + b"event: ping\n\n: ping\n\n" + sse(delta("stop"))
    )
    assert read_chunks([stream])[1].text == "Hi."


def test_only_content_is_progress() -> None:
    decoder = ChatDecoder(PROVIDER, asks())
    steps = []
    for event in _events(sse(delta(role="assistant", content=""), usage(1, 0), *FULL[1:])):
        decoder.feed(event)
        steps.append(decoder.progress)
    assert steps == [0, 0, 1, 2, 3, 4, 5, 6, 6, 6, 6]


@pytest.mark.parametrize(
    ("content", "text", "reasoning"),
    [
        ([{"type": "text", "text": "Hi."}], "Hi.", ""),
        (
            [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}, {"type": "text", "text": "Hi."}],
            "Hi.",
            "Hm.",
        ),
        ([{"type": "thinking", "thinking": "Hm."}, None, {"type": "reference"}], "", "Hm."),
    ],
)
def test_content_in_parts_is_text_and_reasoning(content: JsonValue, text: str, reasoning: str) -> None:
    reply = read(delta(content=content), delta("stop"), DONE)
    assert (reply.text, reply.reasoning) == (text, reasoning)


def test_reasoning_that_is_sent_under_two_names_is_kept_once() -> None:
    assert read(delta(reasoning="Hm.", reasoning_content="Hm."), delta("stop", content="Hi.")).reasoning == "Hm."


def test_one_whole_body_instead_of_a_stream_is_a_reply() -> None:
    message: JsonValue = {
        "role": "assistant",
        "content": "Hi.",
        "tool_calls": [fragment('{"path": "a"}', id="c", name="read")],
    }
    reply = read({"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}], "model": "m"})
    assert (reply.text, reply.calls) == ("Hi.", (asked("read", "c", path="a"),))


def test_text_torn_inside_a_character_is_shown_whole() -> None:
    stream = sse(delta(content="a\ud83d"), delta(content="\ude80b"), delta("stop"), ascii_only=True)
    seen, reply = read_chunks([stream])
    assert (seen, reply.text) == ([TextDelta(text="a"), TextDelta(text="🚀b")], "a🚀b")


def test_half_a_character_anywhere_still_gives_a_reply_that_can_be_written_down() -> None:
    odd = {**delta(content="x\ud83d", reasoning="\ude80"), "id": "\ud83d", "model": "m\ud83d"}
    call = calls(fragment('{"a": "\\ud83d"}', index=0, id="\ud83d", name="t\ud83d"))
    reply = read_chunks([sse(odd, call, delta("stop"), ascii_only=True)])[1]
    assert ModelReply.model_validate_json(reply.model_dump_json()) == reply


def test_the_servers_own_request_id_goes_before_the_chunks() -> None:
    decoder = ChatDecoder(PROVIDER, asks())
    decoder.feed(
        SseEvent("", '{"id": "chatcmpl-1", "choices": [{"delta": {"content": "x"}, "finish_reason": "stop"}]}')
    )
    assert decoder.reply("req-9").request_id == "req-9"


def test_a_server_that_names_no_model_is_taken_at_its_word() -> None:
    assert read({"choices": [{"delta": {"content": "x"}, "finish_reason": "stop"}]}).model == "acme/m-1"


WANTS_BACK = PROVIDER.model_copy(
    update={"dialect": Dialect(echo=("reasoning_content", "reasoning_details", "extra_content"))}
)


def test_fields_that_the_server_wants_back_are_kept_from_their_pieces() -> None:
    signed: JsonValue = {"google": {"thought_signature": "sig"}}
    reply = read(
        delta(reasoning_content="Th", reasoning_details=[{"type": "reasoning.text", "index": 0, "text": "Th"}]),
        delta(
            reasoning_content="ink",
            reasoning_details=[
                {"type": "reasoning.text", "index": 0, "text": "ink", "signature": "s"},
                {"type": "reasoning.encrypted", "index": 1, "data": "xyz"},
            ],
        ),
        calls(
            fragment("{}", index=0, id="c", name="t", extra_content=signed), fragment("{}", index=1, id="d", name="t")
        ),
        delta("tool_calls"),
        provider=WANTS_BACK,
    )
    assert reply.raw == {
        "provider": "acme",
        "model": "m-1",
        "message": {
            "reasoning_content": "Think",
            "reasoning_details": [
                {"type": "reasoning.text", "index": 0, "text": "Think", "signature": "s"},
                {"type": "reasoning.encrypted", "index": 1, "data": "xyz"},
            ],
        },
        "calls": [{"extra_content": signed}, {}],
    }


def test_nothing_is_kept_twice_where_the_server_wants_nothing_back() -> None:
    assert read(*FULL).raw is None


def test_details_without_an_index_are_kept_apart() -> None:
    first: JsonValue = {"type": "reasoning.text", "text": "a"}
    second: JsonValue = {"type": "reasoning.text", "text": "b"}
    reply = read(delta(reasoning_details=[first, second]), delta("stop", content="x"), provider=WANTS_BACK)
    assert isinstance(reply.raw, dict)
    assert reply.raw["message"] == {"reasoning_details": [first, second]}


def test_what_cannot_be_stored_as_it_is_is_not_kept() -> None:
    deep: JsonValue = "x"
    for _ in range(200):
        deep = [deep]
    assert read(delta(reasoning_details=[deep]), delta("stop", content="x"), provider=WANTS_BACK).raw is None
