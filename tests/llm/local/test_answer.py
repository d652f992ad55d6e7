"""An answer is read out of its JSON while it is written, wherever it is cut."""

from __future__ import annotations

import json

import pytest

from kova_auto.llm.local.answer import Answer

TEXTS = ["", "Done.", 'a "quoted" \\ back\nline', "é🚀\u2028", "{}"]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_the_pieces_add_up_to_the_answer(text: str, ascii_only: object, size: int) -> None:
    action = json.dumps({"final": text}, ensure_ascii=bool(ascii_only))
    answer = Answer()
    shown = [answer.add(action[at : at + size]) for at in range(0, len(action), size)]
    assert ("".join(shown), answer.text, answer.action) == (text, text, action)


def test_an_answer_that_was_cut_is_what_came_of_it() -> None:
    answer = Answer()
    assert answer.add('{ "final" :"Half an ans\\') == "Half an ans"
    assert answer.text == "Half an ans"


def test_another_action_is_no_answer() -> None:
    answer = Answer()
    assert [answer.add('{"tool": "read", '), answer.add('"file_path": "a"}'), answer.text] == ["", "", ""]


@pytest.mark.parametrize(
    ("text", "is_endless"),
    [
        ("Seen /v1" + "/v1" * 80, True),
        ("It is so. " + "The file says that it is so, and it is so. " * 8, True),
        ("x" * 239, False),
        ("\n".join(f"| line {number} | {number * 7} |" for number in range(40)), False),
        ("/v1" * 80 + " and then it went on.", False),
    ],
)
def test_an_answer_that_only_repeats_itself_is_known(text: str, is_endless: object) -> None:
    answer = Answer()
    answer.add(json.dumps({"final": text}))
    assert answer.is_endless is is_endless
