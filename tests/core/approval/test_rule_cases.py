"""The shared cases: each command is matched, and remembered, as it must be; none is left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from kova_auto.core.approval.trial import trial

CASES = Path(__file__).parents[2] / "cases"


class Case(NamedTuple):
    id: str
    command: str
    rules: tuple[str, ...]
    matches: bool
    remembered: tuple[str, ...] | None


def _cases() -> list[Case]:
    rows = map(json.loads, (CASES / "shell.jsonl").read_text(encoding="utf-8").splitlines())
    return [
        Case(
            row["id"],
            row["command"],
            tuple(row["rules"]),
            row["expect_match"],
            None if row["expect_rules"] is None else tuple(row["expect_rules"]),
        )
        for row in rows
    ]


ALL = _cases()


def test_the_cases_are_all_there() -> None:
    assert (len(ALL), len({case.id for case in ALL})) == (830, 830)


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.id)
def test_a_command_is_matched_and_remembered_as_it_must_be(case: Case) -> None:
    tried = trial(case.command, case.rules)
    assert (tried.match, tried.remember) == (case.matches, case.remembered)
