"""Server-sent events from bytes, however they were cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kova_auto.llm.sse import EventTooLargeError, SseEvent, SseReader


def events_of(*pieces: bytes) -> list[SseEvent]:
    reader = SseReader()
    found = [event for piece in pieces for event in reader.feed(piece)]
    return [*found, *reader.close()]


def data(*texts: str) -> list[SseEvent]:
    return [SseEvent("", text) for text in texts]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_each_kind_of_line_end_ends_a_line(end: str) -> None:
    assert events_of(f"data: a{end}{end}data: b{end}{end}".encode()) == data("a", "b")


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: a\n\n", data("a")),
        (b"data:a\n\n", data("a")),
        (b"data:  a \n\n", data(" a ")),
        (b"data: a\ndata: b\n\n", data("a\nb")),
        (b"event: error\nid: 7\nretry: 1\ndata: a\n\n", [SseEvent("error", "a")]),
        (b"event: ping\n\ndata: a\n\n", data("a")),
        (b": ping\n\n: OPENROUTER PROCESSING\n\ndata: a\n\n", data("a")),
        (b"data: a\n: in between\n\n", data("a")),
        (b"\xef\xbb\xbfdata: a\n\n", data("a")),
        (b"data: a", data("a")),
        (b"data: a\n", data("a")),
        (b"data\n\n", data("")),
        (b"\n\n\n", []),
        ("data: \u2028\u0085\x0b\n\n".encode(), data("\u2028\u0085\x0b")),
        (b"data: \xff\n\n", data("\ufffd")),
        (b"", []),
    ],
)
def test_a_stream_is_read_as_its_events(stream: bytes, events: list[SseEvent]) -> None:
    assert events_of(stream) == events


def test_a_line_end_that_is_cut_between_its_two_bytes_is_one_line_end() -> None:
    assert events_of(b"data: a\r", b"\ndata: b\r", b"\n\r", b"\n") == data("a\nb")


def test_an_event_is_there_as_soon_as_its_blank_line_begins() -> None:
    assert SseReader().feed(b"data: a\r\r") == data("a")


def test_a_character_that_is_cut_in_two_stays_whole() -> None:
    stream = "data: é🚀\n\n".encode()
    for cut in range(len(stream)):
        assert events_of(stream[:cut], stream[cut:]) == data("é🚀")


STREAM = 'event: x\r\ndata: {"é": 1}\r\n\r\n: ping\rdata: two\r\rdata: a\ndata: 🚀\n\n: end\n\ndata: last'.encode()


@settings(deadline=None)
@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_any_cut_of_a_stream_gives_the_same_events(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(STREAM)]
    pieces = [STREAM[start:end] for start, end in pairwise(places)]
    assert events_of(*pieces) == [SseEvent("x", '{"é": 1}'), *data("two", "a\n🚀", "last")]


FRAMES = (
    b"data: a\n\n",
    b"data:\r\n\r\n",
    b"event: x\ndata: b\n\n",
    b"event:y\r\ndata: c\r\n\r\n",
    b"data: \xc3\xff\n\n",
    b"data: d\ndata: e\n\n",
    b"event: z\n\n",
    b"data: f\r\r",
    b": ping\n\n",
    b"id: 1\n",
    b"xdata: g\n\n",
    b"\n",
)


@given(st.lists(st.sampled_from(FRAMES)).map(b"".join))
def test_what_is_read_at_once_is_read_as_byte_by_byte(stream: bytes) -> None:
    assert events_of(stream) == events_of(*(stream[at : at + 1] for at in range(len(stream))))


def test_an_event_without_end_is_refused_before_it_fills_the_memory() -> None:
    reader = SseReader(max_event_bytes=100)
    for _ in range(11):
        reader.feed(b"data: 123\n")
    with pytest.raises(EventTooLargeError):
        reader.feed(b"data: 456\n")


def test_a_line_without_end_is_refused_before_it_fills_the_memory() -> None:
    reader = SseReader(max_event_bytes=100)
    for _ in range(16):
        reader.feed(b"123456")
    with pytest.raises(EventTooLargeError):
        reader.feed(b"123456")


def test_keep_alives_do_not_count_towards_an_events_size() -> None:
    reader = SseReader(max_event_bytes=100)
    found = [event for _ in range(50) for event in reader.feed(b": ping\nid: 1\nevent: a\n")]
    assert found + reader.feed(b"data: a\n\n") == [SseEvent("a", "a")]


def test_what_is_no_event_at_all_is_kept() -> None:
    reader = SseReader()
    reader.feed(b'{\n  "error": {"message": "no"}\n}')
    assert (reader.close(), reader.stray) == ([], '{\n  "error": {"message": "no"}\n}')


def test_nothing_stray_is_kept_once_an_event_came() -> None:
    reader = SseReader()
    reader.feed(b"data: a\n\n<html>")
    reader.close()
    assert reader.stray == ""
