"""Bash itself judges what the lexer reads: how it parses it, and what it does when it runs it.

The commands are made at random, by seeds. The slow series reads 20,000 and more.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from itertools import product

import pytest

from kova_auto.core.approval.shell.lexer import lex
from kova_auto.core.approval.shell.word import Lexed
from kova_auto.tools.sandbox.select import find_bwrap
from tests.core.approval.shell.commands import CHARACTERS, accepted, changed, features
from tests.core.approval.shell.pretty import disagreements
from tests.core.approval.shell.stubs import outcomes, surprises
from tests.core.approval.shell.test_lexer_cases import ROWS

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or find_bwrap() is None, reason="the commands run in bubblewrap alone"
)

FEW, MANY, SEEDS = 250, 1100, range(100, 120)
ALPHABETS = {
    "tilde": ("k", "=", ":", "~", '"="', "\\:", "/", "''", "+="),
    "braces": ("{", "}", ",", "..", "a", "1", "\\{", '","', "$X", "-"),
    "redirects": (">", "&", "1", "2", " ", "/dev/null", "\\", "<", "\\\n", "|"),
    "quotes": ("\\", '"', "'", "a", "$", "\n", " ", "!", "\\\n", "#"),
    "operators": ("a", "&", ";", "|", "\n", " ", "#", "(", ")", "\\\n"),
    "dollars": ("$", "a", "X", '"', "'", "?", "_", "\\\n", "{X}", "="),
}
READ = sorted({row["command"] for row in ROWS if isinstance(lex(row["command"]), Lexed)})


def _with_features(seed: int, count: int) -> list[str]:
    """Return commands that are read, of which each feature has at least one in five."""
    commands = accepted(seed, count, lex)
    shares = Counter(feature for command in commands for feature in features(command, lex(command)))
    assert set(shares) == {"quotes", "escapes", "redirects", "operators"}
    assert min(shares.values()) * 5 >= len(commands) == count
    return commands


def test_bash_parses_commands_as_they_are_read() -> None:
    assert disagreements(_with_features(1, FEW)) == {}


def test_commands_run_what_was_read_and_write_nothing() -> None:
    assert surprises(_with_features(2, FEW)) == {}


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_bash_parses_and_runs_thousands_of_commands_as_they_are_read(seed: int) -> None:
    commands = _with_features(seed, MANY)
    assert disagreements(commands) == {}
    assert surprises(commands) == {}


@pytest.mark.slow
@pytest.mark.parametrize("alphabet", ALPHABETS)
def test_each_short_text_of_an_alphabet_is_refused_or_parsed_and_run_as_it_is_read(alphabet: str) -> None:
    texts = (
        "a1 " + "".join(pieces) for length in range(1, 5) for pieces in product(ALPHABETS[alphabet], repeat=length)
    )
    commands = [command for command in dict.fromkeys(texts) if isinstance(lex(command), Lexed)]
    assert len(commands) > 2000
    assert disagreements(commands) == {}
    assert surprises(random.Random(5).sample(commands, 1000)) == {}


def test_the_cases_that_are_read_are_parsed_so() -> None:
    assert len(READ) > 350
    assert disagreements(READ) == {}


def test_a_case_with_one_character_more_is_refused_or_parsed_as_it_is_read() -> None:
    chance = random.Random(3)
    assert disagreements([changed(chance, command) for command in READ]) == {}


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_no_character_anywhere_in_a_case_is_read_otherwise_than_bash_does(part: int) -> None:
    short = [command for command in READ if len(command) <= 80][part::8]
    found = (
        command[:at] + character + command[at:]
        for command in short
        for at in range(0, len(command) + 1, 2)
        for character in CHARACTERS
    )
    assert disagreements(list(found)) == {}


def test_the_stubs_see_what_runs_and_what_is_written() -> None:
    ran, wrote, background, missing = outcomes(["git 'a b' ''", "git > f", "git a & ls", "nothing-there"])
    assert (ran.ran, ran.files, ran.complaints) == ([["git", "a b", ""]], [], "")
    assert wrote.files == ["f"]
    assert sorted(background.ran) == [["git", "a"], ["ls"]]
    assert "nothing-there: command not found" in missing.complaints


def test_the_stubs_cannot_write_outside(tmp_path: object) -> None:
    (outside,) = outcomes([f"git > {tmp_path}/f"])
    assert "Read-only file system" in outside.complaints
