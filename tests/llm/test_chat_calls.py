"""Tool calls from fragments, however a server cuts and numbers them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from kova_auto.core.errors import ModelUnavailableError
from kova_auto.core.message import CallRequest
from kova_auto.core.stop_reason import StopReason
from tests.llm.chat_stream import DONE, Chunk, asked, calls, delta, fragment, read, read_chunks, sse

A, B = {"path": "a"}, {"path": "b", "limit": 3}
A_TEXT, B_TEXT = json.dumps(A), json.dumps(B)
TWO = (asked("read", "id-a", path="a"), asked("glob", "id-b", path="b", limit=3))
NAMELESS = (asked("read", path="a"), asked("glob", path="b", limit=3))


def requests(*chunks: Chunk, finish: str = "tool_calls") -> tuple[CallRequest, ...]:
    return read(*chunks, delta(finish), DONE).calls


def cut(text: str, at: int = 5) -> tuple[str, str]:
    return text[:at], text[at:]


SHAPES: dict[str, tuple[list[Chunk], tuple[CallRequest, ...]]] = {
    "as the protocol says": (
        [
            calls(fragment("", index=0, id="id-a", type="function", name="read")),
            *(calls(fragment(part, index=0)) for part in cut(A_TEXT)),
            calls(fragment("", index=1, id="id-b", type="function", name="glob")),
            *(calls(fragment(part, index=1)) for part in cut(B_TEXT)),
        ],
        TWO,
    ),
    "interleaved": (
        [
            calls(fragment("", index=0, id="id-a", name="read"), fragment("", index=1, id="id-b", name="glob")),
            calls(fragment(cut(B_TEXT)[0], index=1)),
            calls(fragment(cut(A_TEXT)[0], index=0)),
            calls(fragment(cut(B_TEXT)[1], index=1), fragment(cut(A_TEXT)[1], index=0)),
        ],
        TWO,
    ),
    "whole calls in one chunk, every index 0": (
        [calls(fragment(A_TEXT, index=0, id="id-a", name="read"), fragment(B_TEXT, index=0, id="id-b", name="glob"))],
        TWO,
    ),
    "fragments, every index 0, new ids": (
        [
            calls(fragment(cut(A_TEXT)[0], index=0, id="id-a", name="read")),
            calls(fragment(cut(A_TEXT)[1], index=0)),
            calls(fragment(cut(B_TEXT)[0], index=0, id="id-b", name="glob")),
            calls(fragment(cut(B_TEXT)[1], index=0)),
        ],
        TWO,
    ),
    "no index": (
        [
            calls(fragment(cut(A_TEXT)[0], id="id-a", name="read")),
            calls(fragment(cut(A_TEXT)[1])),
            calls(fragment(cut(B_TEXT)[0], id="id-b", name="glob")),
            calls(fragment(cut(B_TEXT)[1])),
        ],
        TWO,
    ),
    "no index and no id": ([calls(fragment(A_TEXT, name="read"), fragment(B_TEXT, name="glob"))], NAMELESS),
    "no index and no id, one tool twice": (
        [calls(fragment(A_TEXT, name="read")), calls(fragment(B_TEXT, name="read"))],
        (asked("read", path="a"), asked("read", path="b", limit=3)),
    ),
    "no id, whole calls, every index 0": (
        [calls(fragment(A_TEXT, index=0, name="read")), calls(fragment(B_TEXT, index=0, name="glob"))],
        NAMELESS,
    ),
    "the index drifts while the id stays": (
        [
            calls(fragment(cut(A_TEXT)[0], index=0, id="id-a", name="read")),
            calls(fragment(cut(A_TEXT)[1], index=1, id="id-a")),
            calls(fragment(B_TEXT, index=2, id="id-b", name="glob")),
        ],
        TWO,
    ),
    "the index drifts, and nothing else tells": (
        [
            calls(fragment("", index=0, id="id-a", name="read")),
            *(calls(fragment(part, index=1 + at)) for at, part in enumerate(cut(A_TEXT))),
            calls(fragment("", index=7, id="id-b", name="glob")),
            calls(fragment(B_TEXT, index=8)),
        ],
        TWO,
    ),
    "one id for two calls": (
        [calls(fragment(A_TEXT, index=0, id="id", name="read"), fragment(B_TEXT, index=1, id="id", name="glob"))],
        (asked("read", "id", path="a"), asked("glob", "id", path="b", limit=3)),
    ),
    "id and name in every fragment": (
        [
            *(calls(fragment(part, index=0, id="id-a", name="read")) for part in cut(A_TEXT)),
            *(calls(fragment(part, index=1, id="id-b", name="glob")) for part in cut(B_TEXT)),
        ],
        TWO,
    ),
    "the id comes late": (
        [
            calls(fragment(cut(A_TEXT)[0], index=0, name="read")),
            calls(fragment(cut(A_TEXT)[1], index=0, id="id-a")),
            calls(fragment(cut(B_TEXT)[0], index=1, id="", name="glob")),
            calls(fragment(cut(B_TEXT)[1], index=1, id="id-b")),
        ],
        TWO,
    ),
    "the name in pieces": (
        [
            calls(fragment("", index=0, id="id-a", name="re")),
            calls(fragment(A_TEXT, index=0, name="ad")),
            calls(fragment(B_TEXT, index=1, id="id-b", name="glob")),
        ],
        TWO,
    ),
    "arguments as an object": (
        [
            calls(fragment({"path": "a"}, index=0, id="id-a", name="read")),
            calls(fragment({"path": "b", "limit": 3}, index=1, id="id-b", name="glob")),
        ],
        TWO,
    ),
    "out of order": (
        [
            calls(fragment(B_TEXT, index=7, id="id-b", name="glob")),
            calls(fragment(A_TEXT, index=2, id="id-a", name="read")),
        ],
        TWO[::-1],
    ),
    "the older form": ([delta(function_call={"name": "read", "arguments": A_TEXT})], (asked("read", path="a"),)),
}


@pytest.mark.parametrize(("chunks", "wanted"), SHAPES.values(), ids=SHAPES.keys())
def test_every_shape_gives_the_calls_that_were_meant(chunks: list[Chunk], wanted: tuple[CallRequest, ...]) -> None:
    reply = read(*chunks, delta("tool_calls"), DONE)
    assert (reply.calls, reply.stop) == (wanted, StopReason.TOOL_CALLS)


@pytest.mark.parametrize("arguments", ["", None, "{}", " "])
def test_no_arguments_at_all_are_an_empty_object(arguments: str | None) -> None:
    assert requests(calls(fragment(arguments, index=0, id="i", name="todo"))) == (asked("todo", "i"),)


def test_arguments_that_are_no_json_are_kept_and_not_executed() -> None:
    assert requests(calls(fragment('{"city": "San Fra', index=0, id="i", name="read"))) == (
        asked("read", "i", unparsed='{"city": "San Fra'),
    )


def test_one_bad_call_leaves_the_other_as_it_is() -> None:
    good = fragment(B_TEXT, index=1, id="id-b", name="glob")
    assert requests(calls(fragment("{", index=0, id="id-a", name="read"), good)) == (
        asked("read", "id-a", unparsed="{"),
        TWO[1],
    )


@pytest.mark.parametrize("finish", ["length", "max_tokens", "MAX_TOKENS", "model_length", "content_filter"])
def test_no_call_of_a_reply_that_was_cut_is_executable(finish: str) -> None:
    reply = read(*SHAPES["as the protocol says"][0], delta(finish), DONE)
    assert [(call.args, call.unparsed) for call in reply.calls] == [({}, A_TEXT), ({}, B_TEXT)]
    assert reply.stop in (StopReason.LENGTH, StopReason.REFUSED)


def test_a_later_finish_reason_does_not_make_a_cut_reply_whole() -> None:
    reply = read(calls(fragment(A_TEXT, index=0, id="i", name="read")), delta("length"), delta("stop"), DONE)
    assert (reply.stop, reply.calls[0].unparsed) == (StopReason.LENGTH, A_TEXT)


@pytest.mark.parametrize("finish", ["stop", "end_turn", "tool_calls", "function_call", "tool_use", "STOP"])
def test_calls_are_calls_whatever_the_finish_reason_says(finish: str) -> None:
    reply = read(calls(fragment(A_TEXT, index=0, id="id-a", name="read")), delta(finish))
    assert (reply.stop, reply.calls) == (StopReason.TOOL_CALLS, TWO[:1])


def test_a_call_without_a_name_is_still_a_call() -> None:
    assert requests(calls(fragment(A_TEXT, index=0, id="id-a"))) == (asked("", "id-a", path="a"),)


@pytest.mark.parametrize("entry", [None, 7, "x", [], {}, {"function": None}, {"function": {"arguments": 7}}])
def test_entries_that_are_none_do_not_break_the_reply(entry: JsonValue) -> None:
    reply = read(delta(content="Hm."), delta(tool_calls=[entry]), delta("stop"), DONE)
    assert reply.text == "Hm."


def test_a_megabyte_of_arguments_in_small_pieces_is_one_call() -> None:
    text = json.dumps({"content": 'é{}"\\\n' * 150_000})
    pieces = [text[at : at + 1000] for at in range(0, len(text), 1000)]
    opened = calls(fragment("", index=0, id="i", name="write"))
    (call,) = requests(opened, *(calls(fragment(piece, index=0)) for piece in pieces))
    assert call == asked("write", "i", content='é{}"\\\n' * 150_000)


def test_a_character_torn_between_two_fragments_is_whole() -> None:
    opened = calls(fragment('{"a": "\ud83d', index=0, id="i", name="t"))
    stream = sse(opened, calls(fragment('\ude80"}', index=0)), delta("tool_calls"), ascii_only=True)
    assert read_chunks([stream])[1].calls == (asked("t", "i", a="🚀"),)


_ARGS = st.dictionaries(st.text(), st.text() | st.integers(-9, 9) | st.none(), max_size=3)


@settings(deadline=None)
@given(st.lists(_ARGS, min_size=1, max_size=4), st.data())
def test_arguments_cut_anywhere_and_mixed_anyhow_come_back(
    every: list[dict[str, JsonValue]], data: st.DataObject
) -> None:
    texts = [json.dumps(args) for args in every]
    opened = [calls(fragment("", index=index, id=f"id-{index}", name="t")) for index in range(len(texts))]
    pieces: list[Chunk] = []
    left = dict(enumerate(texts))
    while left:
        index = data.draw(st.sampled_from(sorted(left)))
        size = data.draw(st.integers(1, len(left[index])))
        pieces.append(calls(fragment(left[index][:size], index=index)))
        left[index] = left[index][size:]
        if not left[index]:
            del left[index]
    assert requests(*opened, *pieces) == tuple(
        CallRequest(tool="t", provider_id=f"id-{n}", args=args) for n, args in enumerate(every)
    )


@settings(deadline=None)
@given(st.sampled_from(sorted(SHAPES)), st.data())
def test_a_stream_that_breaks_off_gives_no_call_at_all(shape: str, data: st.DataObject) -> None:
    stream = sse(*SHAPES[shape][0], delta("tool_calls"), DONE)
    end = stream.index(b'"finish_reason": "tool_calls"')
    cut_at = data.draw(st.integers(0, end))
    with pytest.raises(ModelUnavailableError):
        read_chunks([stream[:cut_at]])
