"""The lexer is broken on purpose, one way after the other; the oracles notice each time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from itertools import islice

import pytest

from kova_auto.core.approval.shell.lexer import lex
from kova_auto.core.approval.shell.word import Lexed, Reading
from kova_auto.tools.sandbox.select import find_bwrap
from tests.core.approval.shell.commands import generated
from tests.core.approval.shell.mutants import MUTANTS, SOUND, Mutant
from tests.core.approval.shell.pretty import disagreements
from tests.core.approval.shell.stubs import surprises
from tests.core.approval.shell.test_lexer_cases import ROWS
from tests.core.approval.shell.test_lexer_refusals import REFUSALS
from tests.core.approval.shell.test_lexer_words import COMMANDS, WORDS

GENERATED, MOST = 12000, 40
TABLES = [
    *(row["command"] for row in ROWS),
    *(command for met in REFUSALS.values() for command, _ in met),
    *(command for command, _ in COMMANDS),
    *(f"run {word.raw} x" for word in WORDS),
]
with_bwrap = pytest.mark.skipif(
    sys.platform != "linux" or find_bwrap() is None, reason="the commands run in bubblewrap alone"
)


@cache
def _commands() -> tuple[tuple[str, Reading], ...]:
    return tuple((command, lex(command)) for command in islice(generated(7), GENERATED))


def _doubtful(broken: Callable[[str], Reading]) -> list[str]:
    """Return commands that the broken lexer reads, and otherwise than the sound one: all others were judged."""
    found = (
        command
        for command, reading in _commands()
        if (other := broken(command)) != reading and isinstance(other, Lexed)
    )
    return list(islice(found, MOST))


def test_there_are_more_than_ten_ways_to_break_it() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) > 10


def test_a_lexer_that_is_not_broken_is_not_caught() -> None:
    sound = SOUND.lexer()
    assert [text for text in TABLES if sound(text) != lex(text)] == []


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_broken_lexer_is_caught_by_the_tables(mutant: Mutant) -> None:
    broken = mutant.lexer()
    assert any(broken(text) != lex(text) for text in TABLES)


@with_bwrap
@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_broken_lexer_is_caught_by_bash(mutant: Mutant) -> None:
    broken = mutant.lexer()
    doubtful = _doubtful(broken)
    assert disagreements(doubtful, broken) or surprises(doubtful, broken)
