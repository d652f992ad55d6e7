"""The shared cases, as the list of commands that only read sees them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from kova_auto.core.approval.safe import read_only
from kova_auto.core.approval.words import segments

CASES = Path(__file__).parents[2] / "cases"


class Case(NamedTuple):
    id: str
    command: str
    only_reads: bool | None


def _cases() -> list[Case]:
    rows = map(json.loads, (CASES / "shell.jsonl").read_text(encoding="utf-8").splitlines())
    return [Case(row["id"], row["command"], row.get("hardened_match")) for row in rows]


ALL = _cases()
SAFE = [json.loads(line)["command"] for line in (CASES / "shell_safe.jsonl").read_text(encoding="utf-8").splitlines()]
NOT_YET_LISTED = {"go", "jq", "npm", "pip", "sed"}


def test_the_cases_are_all_there() -> None:
    assert (len(ALL), len({case.id for case in ALL}), len(SAFE)) == (830, 830, 78)


@pytest.mark.parametrize("case", [case for case in ALL if case.only_reads is False], ids=lambda case: case.id)
def test_a_command_that_does_more_than_read_is_not_known(case: Case) -> None:
    assert read_only(case.command) is None


@pytest.mark.parametrize("command", [command for command in SAFE if segments(command)])
def test_a_plain_command_that_only_reads_is_known(command: str) -> None:
    assert bool(read_only(command)) is (command.split(maxsplit=1)[0] not in NOT_YET_LISTED)


def test_what_only_reads_and_is_not_yet_known_is_counted() -> None:
    assert sum(read_only(command) is None for command in SAFE) <= 22
