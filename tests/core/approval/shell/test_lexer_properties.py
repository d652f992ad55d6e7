"""What holds for every text: it is read or refused, the work grows with its length, one more command is one more."""

from __future__ import annotations

import sys
from types import FrameType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kova_auto.core.approval.shell.lexer import MAX_BYTES, MAX_DEPTH, lex
from kova_auto.core.approval.shell.refusal import Refusal, Refused
from kova_auto.core.approval.shell.word import Lexed
from tests.core.approval.shell.commands import CHARACTERS, accepted
from tests.core.approval.shell.test_lexer_cases import ROWS

TOUCH = ("touch", "x")
READ = sorted({row["command"] for row in ROWS if isinstance(lex(row["command"]), Lexed)}) + accepted(4, 400, lex)


def _lexed(command: str) -> Lexed:
    reading = lex(command)
    assert isinstance(reading, Lexed)
    return reading


def _ends_in_comment(command: str) -> bool:
    """Say whether what is appended is no longer read; an open quote would be noticed."""
    return lex(f"{command} 'x") == lex(command)


@settings(deadline=None, max_examples=200)
@given(st.text(CHARACTERS + "abé\u200b\u00a0\r\x00", max_size=40) | st.text(max_size=20))
def test_every_text_is_read_or_refused_at_a_place_inside_it(text: str) -> None:
    reading = lex(text)
    if isinstance(reading, Refused):
        assert 0 <= reading.at <= len(text)
    else:
        assert all(segment.words and segment.depth <= MAX_DEPTH for segment in reading.segments)


@settings(deadline=None, max_examples=200)
@given(
    st.lists(
        st.sampled_from(["a", " ", "'b c'", '"$X"', "\\;", ";", "&", "|", "\n", "#", "(", ")", ">/dev/null", "{,}"])
    )
)
def test_a_word_that_is_plain_is_its_own_value_and_nothing_changes_it(pieces: list[str]) -> None:
    reading = lex("run " + "".join(pieces))
    for segment in reading.segments if isinstance(reading, Lexed) else ():
        assert segment.words[0].plain
        for word in segment.words:
            assert not word.plain or (
                word.literal and word.raw == word.value and not set(word.raw) & set("'\"\\$*?~{} \n")
            )


def test_a_command_on_a_new_line_is_one_segment_more() -> None:
    for command in READ:
        before, after = _lexed(command).segments, _lexed(f"{command}\ntouch x").segments
        assert after[:-1] == before, command
        assert tuple(word.value for word in after[-1].words) == TOUCH


def test_a_command_behind_a_semicolon_is_one_segment_more() -> None:
    appended = 0
    for command in READ:
        before, after = _lexed(command).segments, lex(f"{command} ; touch x")
        if isinstance(after, Refused):
            assert after.code is Refusal.OPERATOR, command  # it ends in a separator of its own
        elif _ends_in_comment(command):
            assert after.segments == before, command
        else:
            appended += 1
            assert after.segments[:-1] == before, command
            assert tuple(word.value for word in after.segments[-1].words) == TOUCH
    assert appended > len(READ) * 0.7


def _steps(command: str) -> int:
    """Return how many functions are called to read a command."""
    steps = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal steps
        steps += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        lex(command)
    finally:
        sys.setprofile(before)
    return steps


UNITS = (
    *(
        "{",
        "}",
        "(",
        "( ",
        ")",
        "'",
        "''",
        '"',
        '""',
        "\\",
        "\\\\",
        "\\\n",
        "a ",
        "'a' ",
        "$",
        "$a",
        "${a}",
        "a{b,",
        "{..",
    ),
    *("~", "[", "*", "a;", "a&", "a|", "a\n", "# ", "#\n", ">/dev/null ", "2>&1 ", "</dev/null ", "!", "! ", "a\\\nb"),
    *('"\\', '"$', "é"),
)


@pytest.mark.parametrize("unit", UNITS, ids=ascii)
def test_the_work_grows_with_the_length(unit: str) -> None:
    most = 4096 // len(unit)
    whole, half = (_steps("a " + unit * count) for count in (most, most // 2))
    assert whole <= 2.2 * half + 100


@pytest.mark.parametrize("unit", ["{", "(", "'", '"', "\\", "\\\\", "$", "a{"], ids=ascii)
def test_the_longest_command_takes_a_few_steps_for_a_character(unit: str) -> None:
    assert _steps(f"a {unit * ((MAX_BYTES - 2) // len(unit))}") <= 12 * MAX_BYTES


def test_deep_nesting_is_refused_where_it_gets_too_deep() -> None:
    assert lex("( " * 16000) == Refused(Refusal.PARENTHESES, 2 * MAX_DEPTH)
    assert lex("(" * 32000) == Refused(Refusal.PARENTHESES, 0)
    assert lex("$(" * 16000) == Refused(Refusal.SUBSTITUTION, 0)
