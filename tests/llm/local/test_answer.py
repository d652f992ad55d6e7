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
