"""What is shown of what a command printed, and how its end is told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kova_auto.tools.capture import Output
from kova_auto.tools.printed import SHOWN_BYTES, Finished, both_ends, how_it_ended, last_part, set_aside
from kova_auto.tools.process import Ended, Ending, Limits

END = SHOWN_BYTES // 2
EXITED = Ended(Ending.EXITED, 0, Output(b"", b"", 0), 1.0)


def ends(whole: bytes) -> Output:
    return Output(whole[:END], whole[max(END, len(whole) - END) :], len(whole))


@pytest.mark.parametrize("whole", [b"", b"a\n", b"x" * SHOWN_BYTES])
def test_what_fits_is_shown_whole(whole: bytes) -> None:
    assert both_ends(ends(whole)) == whole.decode().removesuffix("\n")


@pytest.mark.parametrize("blank", ["\n", " ", "\t"])
def test_a_word_is_left_out_rather_than_cut(blank: str) -> None:
    head, tail = "a" * (END - 10) + blank, blank + "z" * (END - 10)
    text = both_ends(ends(f"{head}secret-word{'m' * 100}secret-word{tail}".encode()))

    left_out = len(f"secret-word{'m' * 100}secret-word{blank}")

    assert text == f"{head.removesuffix(chr(10))}\n[... {left_out} bytes left out ...]\n{tail[1:]}"


def test_what_has_no_words_is_cut_where_it_must() -> None:
    text = both_ends(ends(b"a" * END + b"m" * 7 + b"z" * END))

    assert text == f"{'a' * END}\n[... 7 bytes left out ...]\n{'z' * END}"


def test_a_character_that_is_cut_is_shown_as_such() -> None:
    assert both_ends(ends(b"a" * (END - 1) + "\N{EURO SIGN}".encode() + b"z" * END)).split("\n")[0][-2:] == (
        "a\N{REPLACEMENT CHARACTER}"
    )


def test_the_end_of_an_output_says_how_much_came_before() -> None:
    assert last_part(b"b\nc\n", 4) == "b\nc"
    assert last_part(b"b\nc\n", 40) == "[... 38 bytes left out ...]\nc"


@pytest.mark.parametrize(
    ("ended", "lines"),
    [
        (EXITED, []),
        (replace(EXITED, exit_code=7), ["[exit code 7]"]),
        (
            replace(EXITED, ending=Ending.TIMED_OUT, exit_code=143, leftovers=(1, 2)),
            ["[ended at its limit of 120 s, with everything it had started]"],
        ),
        (
            replace(EXITED, ending=Ending.OVERFLOWED, exit_code=137),
            ["[ended because it printed more than 4194304 bytes]"],
        ),
        (replace(EXITED, ending=Ending.STOPPED, exit_code=143), ["[stopped]"]),
        (
            replace(EXITED, ending=Ending.STOPPED, exit_code=None),
            ["[stopped]", "[it did not die in time: it may still be there]"],
        ),
        (replace(EXITED, leftovers=(1,)), ["[1 process that it left behind was ended]"]),
        (replace(EXITED, leftovers=(1, 2)), ["[2 processes that it left behind were ended]"]),
    ],
)
def test_how_a_command_ended_is_told_in_a_line_each(ended: Ended, lines: list[str]) -> None:
    assert how_it_ended(Finished(ended), Limits()) == lines


def test_of_many_control_files_that_were_set_aside_some_are_named() -> None:
    [line] = set_aside(tuple(f"/w/{number}\n/.envrc" for number in range(12)))

    assert line.endswith(r"/w/8\n/.envrc, /w/9\n/.envrc, ...]")


def test_only_a_command_that_ended_by_itself_with_code_0_succeeded() -> None:
    timed_out = replace(EXITED, ending=Ending.TIMED_OUT)

    assert [Finished(one).succeeded for one in (EXITED, replace(EXITED, exit_code=1), timed_out)] == [
        True,
        False,
        False,
    ]
