"""Answers to a model's questions: an option by its number, or any text."""

from __future__ import annotations

import pytest

from kova_auto.cli.chosen import chosen
from kova_auto.core.call_state import CallState
from kova_auto.core.errors import ConfigError
from tests.support import tool_call

OPTIONS = [{"title": "main"}, {"title": "next"}, {"title": "old"}]


def asking(*questions: dict[str, object]) -> CallState:
    return CallState(tool_call("question", questions=list(questions)))  # type: ignore[arg-type]  # JSON


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("2", "next"),
        (" 1 ", "main"),
        ("next", "next"),
        ("neither of them", "neither of them"),
        ("version 2", "version 2"),
        ("1,3", "main, old"),
        ("3, 3", "old"),
    ],
)
def test_an_options_number_stands_for_its_title_and_other_text_for_itself(typed: str, answer: str) -> None:
    known = asking({"title": "Which?", "options": OPTIONS, "multi_select": True})

    assert chosen(known, [typed]) == (answer,)


def test_a_number_is_text_where_there_is_nothing_to_choose_from() -> None:
    assert chosen(asking({"title": "How many?"}), ["7"]) == ("7",)


@pytest.mark.parametrize(
    ("typed", "complaint"),
    [
        (["4"], "wanted an option from 1 to 3, found 4"),
        (["0"], "wanted an option from 1 to 3, found 0"),
        (["1,2"], r"Which\?: wanted one option, found 1,2"),
        ([], "wanted 1 answer, one for each question in its order, found 0"),
        (["1", "2"], "wanted 1 answer, one for each question in its order, found 2"),
    ],
)
def test_what_fits_no_question_is_refused(typed: list[str], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        chosen(asking({"title": "Which?", "options": OPTIONS}), typed)


def test_each_question_gets_its_own_answer() -> None:
    known = asking({"title": "Which?", "options": OPTIONS}, {"title": "Why?"})

    assert chosen(known, ["3", "it is 2"]) == ("old", "it is 2")
