"""Chunked bodies, however they were cut; and what is none."""

from __future__ import annotations

from itertools import pairwise

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova_auto.llm.chunked import MAX_HEAD_BYTES, MAX_TRAILER_BYTES, ChunkedBody

BODY = b'5\r\nhel\r\n\r\nA ;x="y";z\r\n0123456789\r\n00003\r\nend\r\n000;last\r\nx-more: y\r\nx-other:\r\n\r\n'
TEXT = b"hel\r\n0123456789end"


def read(*pieces: bytes) -> tuple[bytes, ChunkedBody]:
    body = ChunkedBody()
    return b"".join([body.feed(piece) for piece in pieces]), body


def test_what_came_together_is_one_piece() -> None:
    text, body = read(BODY)
    assert (text, body.ended, body.rest) == (TEXT, True, b"")


@given(st.lists(st.integers(0, len(BODY))))
def test_any_cut_of_a_body_gives_the_same(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(BODY)]
    text, body = read(*(BODY[start:end] for start, end in pairwise(places)))
    assert (text, body.ended, body.rest) == (TEXT, True, b"")


def test_no_part_of_a_body_is_taken_for_the_whole() -> None:
    for cut in range(len(BODY)):
        assert not read(BODY[:cut])[1].ended


def test_what_stands_behind_the_end_is_no_part_of_it() -> None:
    text, body = read(b"2\r\nab\r\n0\r\n\r\n2\r\ncd\r\n")
    assert (text, body.rest) == (b"ab", b"2\r\ncd\r\n")


@pytest.mark.parametrize(
    "data",
    [
        b"zz\r\n",
        b"-5\r\nhello\r\n",
        b"+5\r\nhello\r\n",
        b"0x5\r\nhello\r\n",
        b"5_0\r\n",
        b" 5\r\nhello\r\n",
        b"\r\n5\r\nhello\r\n",
        b"5\nhello\r\n",
        b"5\rhello\r\n",
        b"5 5\r\nhello\r\n",
        b"5\r\nhello!",
        b"5\r\nhello\n3\r\n",
        b"5;a\x00b\r\nhello\r\n",
        b"5;a\nb\r\nhello\r\n",
        b"F" * 16,
        b"5;" + b"x" * MAX_HEAD_BYTES,
        b"0\r\n\rx\r\n\r\n",
        b"0\r\nno trailer\r\n\r\n",
        b"0\r\nx: y\nz: a\r\n\r\n",
        b"0\r\n: y\r\n\r\n",
        b"0\r\n" + b"x" * (MAX_TRAILER_BYTES + 1),
    ],
)
def test_what_is_no_chunked_body_is_refused_at_once_and_byte_by_byte(data: bytes) -> None:
    for pieces in ([data], [data[at : at + 1] for at in range(len(data))]):
        with pytest.raises(httpx.RemoteProtocolError):
            read(*pieces)
