"""What it costs to read a command, and to give a whole verdict: run with `pytest -n0 -s -m bench`.

No reading is remembered here: each repetition reads another text. Processor time counts, and the best of many short
rounds, as a busy machine makes a round longer and never shorter.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count
from pathlib import Path
from time import process_time

import pytest

from kova_auto.core.approval.adjudicate import adjudicate
from kova_auto.core.approval.levels import AutomationLevel
from kova_auto.core.approval.shell.lexer import MAX_BYTES, lex
from tests.core.approval.approval_support import command, policy, rules

pytestmark = pytest.mark.bench

CASES = Path(__file__).parents[1] / "cases" / "shell.jsonl"
ROWS = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
EVERYDAY = [row["command"] for row in ROWS if row["id"].startswith("benign-transcript")]
RULES = sorted({rule for row in ROWS for rule in row["rules"] if row["id"].startswith("benign-transcript")})
HIGHEST_US = 200.0
ROUNDS, REPETITIONS = 60, 2
_FRESH = count()


def _best_us(work: Callable[[str], object], commands: list[str]) -> float:
    """Return what one command takes, in microseconds."""

    def one_round() -> float:
        fresh = [f"{text} x{next(_FRESH)}" for text in commands for _ in range(REPETITIONS)]
        began = process_time()
        for text in fresh:
            work(text)
        return (process_time() - began) / len(fresh) * 1e6

    return min(one_round() for _ in range(ROUNDS))


def test_reading_an_everyday_command_takes_microseconds() -> None:
    taken_us = _best_us(lex, EVERYDAY)
    print(f"\nread: {taken_us:.1f} us for each of {len(EVERYDAY)} everyday commands")
    assert taken_us < HIGHEST_US / 2


def test_a_reading_that_is_remembered_takes_next_to_nothing() -> None:
    lex(EVERYDAY[0])
    began = process_time()
    for _ in range(10_000):
        lex(EVERYDAY[0])
    taken_us = (process_time() - began) / 10_000 * 1e6
    print(f"\nremembered: {taken_us:.2f} us")
    assert taken_us < 5


def test_the_longest_command_is_read_while_nobody_notices() -> None:
    for unit in ("b ", "'b' ", "{", "\\\\", "${X}", "b;"):
        text = f"a {unit * ((MAX_BYTES - 2) // len(unit))}"
        began = process_time()
        lex(text)
        taken_ms = (process_time() - began) * 1e3
        print(f"\n32 KiB of {unit!r}: {taken_ms:.1f} ms")
        assert taken_ms < 500


def test_a_whole_verdict_takes_less_than_the_fifth_of_a_millisecond() -> None:
    allowed = policy(AutomationLevel.WORKSPACE_WRITE, grants=rules(*RULES))
    taken_us = _best_us(lambda text: adjudicate(command(text), allowed), EVERYDAY)
    print(f"\nverdict: {taken_us:.1f} us, {len(RULES)} rules")
    assert taken_us < HIGHEST_US
