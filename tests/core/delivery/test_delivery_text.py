"""Text that is fit to be sent: clean, and cut where it does no harm."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova_auto.core.delivery.text import border, clean, cut, excerpt, one_line

FAMILY = "👩\u200d👩\u200d👧"
ANY = st.text(st.characters(exclude_categories=()), max_size=300)


@pytest.mark.parametrize(
    ("dirty", "cleaned"),
    [
        ("a\r\nb\rc\td\n", "a\nb\nc\td\n"),
        ("\x1b[31;1mred\x1b[0m", "red"),
        ("\x1b]0;title\x07\x1b]8;;http://a\x1b\\x", "x"),
        ("a\x00b\x07c\x7fd\x85e\x9bf", "abcdef"),
        ("\u202eevil\u202c\u2066x\u2069\u200e\u061c", "evilx"),
        ("half \ud83d pair", "half \ufffd pair"),
        (f"{FAMILY} 日本語 é", f"{FAMILY} 日本語 é"),
    ],
)
def test_what_could_act_on_a_screen_is_taken_out(dirty: str, cleaned: str) -> None:
    assert clean(dirty) == cleaned


@given(ANY)
def test_clean_text_can_be_sent_and_stays_as_it_is(text: str) -> None:
    cleaned = clean(text)

    cleaned.encode("utf-8")
    assert clean(cleaned) == cleaned


@given(ANY, st.integers(min_value=0, max_value=80))
def test_one_line_is_one_line_within_its_limit(text: str, limit: int) -> None:
    line = one_line(text, limit)

    assert len(line) <= limit
    assert len(line.splitlines()) <= 1


@pytest.mark.parametrize(
    ("text", "limit", "kept"),
    [("whole", 5, "whole"), ("one two", 6, "one…"), ("aaaaaa", 4, "aaa…"), ("a" + FAMILY, 4, "a…"), ("ab", 0, "")],
)
def test_a_cut_says_so_and_splits_no_word_and_no_glyph(text: str, limit: int, kept: str) -> None:
    assert cut(text, limit) == kept


@pytest.mark.parametrize(
    ("text", "at", "place"),
    [
        ("abc", 2, 2),
        ("abc", 9, 3),
        ("e\u0301x", 1, 0),
        (FAMILY, 3, 0),
        ("👍🏽", 1, 0),
        ("❤\ufe0f", 1, 0),
        ("🇩🇪🇫🇷", 2, 2),
        ("🇩🇪🇫🇷", 3, 2),
        ("a" + "\u0301" * 100, 90, 90),
    ],
)
def test_a_border_splits_nothing_that_is_seen_as_one(text: str, at: int, place: int) -> None:
    assert border(text, at) == place


def test_a_short_text_is_its_own_excerpt() -> None:
    assert (excerpt("short", 400).text, excerpt("short", 400).left_out) == ("short", 0)


def test_an_excerpt_keeps_head_and_tail_and_counts_what_is_missing() -> None:
    text = "first\n" + "middle\n" * 1000 + "last"
    short = excerpt(text, 500)

    assert short.text.startswith("first\nmiddle\n")
    assert short.text.endswith("middle\nlast")
    head, marker, tail = short.text.split("\n\n")
    assert marker == f"[… {len(text) - len(head) - len(tail)} characters left out …]"
    assert short.left_out == len(text) - len(head) - len(tail)


@pytest.mark.parametrize("marks", ["```", "~~~~"])
def test_a_fence_that_is_cut_is_closed_and_opened_again(marks: str) -> None:
    short = excerpt(f"Intro\n{marks}python\n" + "x = 1\n" * 500 + f"{marks}\nEnd", 600)
    head, _, tail = short.text.split("\n\n")

    assert head.startswith(f"Intro\n{marks}python\nx = 1\n")
    assert head.endswith(f"x = 1\n{marks}")
    assert tail.startswith(f"{marks}python\nx = 1\n")
    assert tail.endswith(f"x = 1\n{marks}\nEnd")


@given(st.text(st.sampled_from("ab `~\n🇩é"), min_size=0, max_size=3000), st.integers(min_value=400, max_value=900))
def test_an_excerpt_is_never_longer_than_it_may_be(text: str, limit: int) -> None:
    assert len(excerpt(text, limit).text) <= max(limit, 0)
