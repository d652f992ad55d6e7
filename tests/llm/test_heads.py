"""The heads that we read ourselves: what we read there is what h11 reads, and whatever is odd is left to it."""

from __future__ import annotations

from collections.abc import Iterator

import h11
import pytest

from kova_auto.llm.heads import AnswerHead, plain_head, together

LINES = b"Content-Type: text/event-stream\r\nx-id:  a b \r\nX-Id: c\r\nTransfer-Encoding: chunked\r\n"
PLAIN = b"HTTP/1.1 200 OK\r\n" + LINES + b"Connection: keep-alive\r\n\r\n"
ODD_BYTES = b"\0\t\n\r :;,A1\x7f\xe9"


def read_by_h11(head: bytes) -> AnswerHead | None:
    """Return what h11 reads of a head, where a chunked body and another answer may follow it."""
    http = h11.Connection(h11.CLIENT)
    http.send(h11.Request(method="POST", target="/", headers=[("host", "x")]))
    http.send(h11.EndOfMessage())
    http.receive_data(head)
    try:
        event = http.next_event()
        if not isinstance(event, h11.Response):
            return None
        http.receive_data(b"0\r\n\r\n")
        if not isinstance(http.next_event(), h11.EndOfMessage) or http.our_state is not h11.DONE:
            return None
    except h11.RemoteProtocolError:
        return None
    return AnswerHead(event.status_code, together((n.decode("latin-1"), v.decode("latin-1")) for n, v in event.headers))


def spoiled(head: bytes) -> Iterator[bytes]:
    """Yield a head with one byte more, less or other than it had."""
    for at in range(len(head)):
        yield head[:at] + head[at + 1 :]
        for odd in ODD_BYTES:
            yield head[:at] + bytes([odd]) + head[at:]
            yield head[:at] + bytes([odd]) + head[at + 1 :]


def test_a_plain_head_is_read_as_h11_reads_it() -> None:
    assert plain_head(bytearray(PLAIN + b"5\r\nhello")) == (read_by_h11(PLAIN), len(PLAIN))


def test_a_head_with_any_byte_spoiled_is_read_as_h11_reads_it_or_left_to_it() -> None:
    read = [(head, *found) for head in spoiled(PLAIN) if (found := plain_head(bytearray(head)))]

    assert len(read) > 500
    assert [head for head, found, size in read if read_by_h11(head[:size]) != found] == []


@pytest.mark.parametrize("length", range(len(PLAIN)))
def test_a_head_that_is_not_whole_is_left_to_h11(length: int) -> None:
    assert plain_head(bytearray(PLAIN[:length])) is None


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.0 200 OK\r\n" + LINES + b"\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 429 Too Many Requests\r\n" + LINES + b"\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + LINES + b"content-length: 5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + LINES + b"transfer-encoding: gzip\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + LINES + b"connection: close\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + LINES + b"connection: keep-alive\r\nconnection: close\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + LINES + b"upgrade: h2c\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx-folded: a\r\n b\r\n" + LINES + b"\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"x-long: " + b"a" * 20_000 + b"\r\n" + LINES + b"\r\n",
    ],
)
def test_a_head_that_is_not_plain_is_left_to_h11(head: bytes) -> None:
    assert plain_head(bytearray(head)) is None
