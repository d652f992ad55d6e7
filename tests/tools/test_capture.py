from __future__ import annotations

from pathlib import Path

import pytest

from kova_auto.tools.capture import Capture, Output


def fed(*chunks: bytes, head: int = 3, tail: int = 3) -> Output:
    capture = Capture(head, tail, spool=None, spool_bytes=1000)
    for chunk in chunks:
        capture.feed(chunk)
    return capture.output()


@pytest.mark.parametrize(
    ("chunks", "output"),
    [
        ((), Output(b"", b"", 0)),
        ((b"ab",), Output(b"ab", b"", 2)),
        ((b"ab", b"cd"), Output(b"abc", b"d", 4)),
        ((b"abcdef",), Output(b"abc", b"def", 6)),
        ((b"abcdefg",), Output(b"abc", b"efg", 7)),
        ((b"a" * 50, b"xyz"), Output(b"aaa", b"xyz", 53)),
        (tuple(bytes([65 + n]) for n in range(26)), Output(b"ABC", b"XYZ", 26)),
    ],
)
def test_both_ends_are_kept_however_the_stream_is_cut(chunks: tuple[bytes, ...], output: Output) -> None:
    assert fed(*chunks) == output


def test_text_says_how_much_is_left_out() -> None:
    assert fed(b"abcdefghi").text() == "abc\n[... 3 bytes left out ...]\nghi"


def test_a_character_that_is_cut_does_not_spoil_the_text() -> None:
    assert (
        fed("ab\N{EURO SIGN}cdefgh".encode()).text() == "ab\N{REPLACEMENT CHARACTER}\n[... 5 bytes left out ...]\nfgh"
    )


def test_a_whole_character_across_the_ends_is_kept() -> None:
    assert fed("ab\N{EURO SIGN}".encode()).text() == "ab\N{EURO SIGN}"


def test_the_spool_takes_so_much_and_no_more(tmp_path: Path) -> None:
    capture = Capture(1, 1, spool=tmp_path / "spool", spool_bytes=5)
    overflowed = []
    for chunk in (b"abc", b"de", b"fg", b"h"):
        capture.feed(chunk)
        overflowed.append(capture.overflowed)
    capture.close()
    capture.close()

    assert ((tmp_path / "spool").read_bytes(), overflowed) == (b"abcde", [False, False, True, True])


def test_what_was_printed_lies_in_the_spool_before_it_is_closed(tmp_path: Path) -> None:
    capture = Capture(1, 1, spool=tmp_path / "spool", spool_bytes=5)
    capture.feed(b"abc")
    at_once = (tmp_path / "spool").read_bytes()
    capture.close()

    assert at_once == b"abc"
