"""The page on commands that only read lists those that the code has, and its examples are judged as it says."""

from __future__ import annotations

import re

import pytest

from kova_auto.core.approval.safe import hardened, read_only
from kova_auto.core.approval.safe_commands import COMMANDS
from tests.docs.pages import codes, table

PAGE = "docs/safe-commands.md"
EXAMPLES = [
    (command, row[1] == "yes")
    for row in table(PAGE, "What makes a command safe").body
    for command in re.findall(r"`([^`]+)`", row[0])
]


def test_the_list_is_the_one_on_the_page() -> None:
    listed = [name for row in table(PAGE, "Commands that only read").body for name in codes(row[1])]
    assert listed == [" ".join(words) for words in COMMANDS]


@pytest.mark.parametrize(("command", "listed"), EXAMPLES)
def test_an_example_is_judged_as_the_page_says(command: str, *, listed: bool) -> None:
    assert bool(read_only(command)) is listed


@pytest.mark.parametrize("command", ["jq env", "cargo tree --offline", "env", "printenv", "ps", "tail -f x", "awk 1 x"])
def test_what_the_page_says_is_missing_is(command: str) -> None:
    assert read_only(command) is None


def test_a_rule_leaves_a_program_open_or_not_as_the_page_says() -> None:
    rules = ("sed *", "sed -n 1,20p *")
    assert [hardened((rule,), "sed -n 1,20p a.txt") for rule in rules] == [False, True]
