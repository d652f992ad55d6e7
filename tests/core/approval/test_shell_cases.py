"""The shared cases, as the list of commands that only read sees them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from kova_auto.core.approval.safe import hardened, read_only

CASES = Path(__file__).parents[2] / "cases"


class Case(NamedTuple):
    command: str
    rules: tuple[str, ...]
    wanted: bool


def _read(name: str, key: str) -> list[Case]:
    rows = map(json.loads, (CASES / name).read_text(encoding="utf-8").splitlines())
    return [Case(row["command"], tuple(row.get("rules", ())), row[key]) for row in rows if key in row]


HARDENED = _read("shell.jsonl", "hardened_match")
SAFE = _read("shell_safe.jsonl", "safe")
MORE = _read("shell_safe_more.jsonl", "safe")


def _name(case: Case) -> str:
    return case.command


def test_the_cases_are_all_there() -> None:
    assert (len(HARDENED), len(SAFE)) == (104, 78)
    assert sum(case.wanted for case in MORE) >= 100
    assert sum(not case.wanted for case in MORE) >= 100


@pytest.mark.parametrize("case", HARDENED, ids=_name)
def test_what_a_rule_lets_through_is_hardened_as_the_case_says(case: Case) -> None:
    assert hardened(case.rules, case.command) is case.wanted


@pytest.mark.parametrize("case", [*SAFE, *MORE], ids=_name)
def test_a_command_only_reads_as_the_case_says(case: Case) -> None:
    assert bool(read_only(case.command)) is case.wanted
    assert hardened((), case.command) is case.wanted


@pytest.mark.parametrize(
    "shape",
    [
        "{}; touch x",
        "touch x && {}",
        "{} | tee x",
        "{} >x",
        "({} >x)",
        "{} --no-such-option",
        "{} $X",
        "{} &",
        "X=1 {}",
        "{} 'a",
    ],
)
def test_no_command_only_reads_with_something_more_in_it(shape: str) -> None:
    # What is put behind a comment would be part of it.
    safe = [case.command for case in (*SAFE, *MORE) if case.wanted and "#" not in case.command]
    assert [command for command in safe if read_only(shape.format(command))] == []
