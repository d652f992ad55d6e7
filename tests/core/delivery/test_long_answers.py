"""Long answers, as they reach people: whole where that fits, in order, and with a way to what is missing."""

from __future__ import annotations

import re

import pytest

from kova_auto.core.delivery.format import Wish
from kova_auto.core.delivery.needs import NEEDS, options_of
from kova_auto.core.delivery.payload import render
from kova_auto.core.delivery.target import FormatName
from tests.core.delivery.kind import kind_of
from tests.core.delivery.notices import ID, a_report

ROOMY = [
    *(FormatName.SLACK, FormatName.DISCORD, FormatName.MATTERMOST, FormatName.TEAMS, FormatName.GOOGLE_CHAT),
    *(FormatName.FEISHU, FormatName.DINGTALK, FormatName.STANDARD),
]
PEOPLE = [name for name in FormatName if kind_of(name).shows_command]


def answer_of(length: int) -> str:
    """Return an answer of numbered words, a third of which are in a block of code."""
    words = [f"w{number:06}" for number in range(length // 8)]
    third = len(words) // 3
    code = "\n".join(" ".join(words[at : min(at + 8, 2 * third)]) for at in range(third, 2 * third, 8))
    return f"{' '.join(words[:third])}\n\n```\n{code}\n```\n\n{' '.join(words[2 * third :])}"


def numbers_in(name: FormatName, answer: str) -> tuple[list[int], str]:
    """Return the numbers of the words of a message's body in their order, and all of its text."""
    kind = kind_of(name)
    wish = Wish(ID, options=options_of(NEEDS[name], kind.options[0]))
    message = render(name, a_report(answer=answer), wish)
    text = "\n".join(kind.texts(kind.read(message)))
    # Slack's first text is for notifications alone.
    body = text.partition("\n")[2] if name is FormatName.SLACK else text
    return [int(number) for number in re.findall(r"\bw(\d{6})\b", body)], text


@pytest.mark.parametrize("name", ROOMY)
def test_an_answer_of_five_thousand_characters_is_whole(name: FormatName) -> None:
    answer = answer_of(4911)

    assert numbers_in(name, answer)[0] == [*range(answer.count("w0"))]


@pytest.mark.parametrize("name", PEOPLE)
def test_what_is_left_of_a_very_long_answer_is_in_its_order_and_the_rest_is_counted(name: FormatName) -> None:
    numbers, text = numbers_in(name, answer_of(60_000))

    assert numbers == sorted(set(numbers))
    assert numbers[0] == 0
    assert numbers[-1] == 60_000 // 8 - 1
    assert re.search(r"… \d+ characters left out …", text)
