"""The shared cases, as far as the lexer decides: nothing that must not match is read so that it would."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kova_auto.core.approval.shell.lexer import lex
from kova_auto.core.approval.shell.refusal import Refusal, Refused
from kova_auto.core.approval.shell.word import Lexed, Segment

CASES = Path(__file__).parents[3] / "cases"
ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in (CASES / "shell.jsonl").read_text(encoding="utf-8").splitlines()
]
SAFE: list[str] = [
    json.loads(line)["command"] for line in (CASES / "shell_safe.jsonl").read_text(encoding="utf-8").splitlines()
]
# Their commands differ from the rule in blanks alone, which a segment does not keep.
_BY_TEXT = {"rule-syntax-009"}
# What the first part of an id says, and the only codes that its commands are refused with.
_CODES = {
    "benign": {Refusal.SUBSTITUTION, Refusal.HISTORY, Refusal.REDIRECT, Refusal.HERE_DOCUMENT},
    "heredoc": {Refusal.HERE_DOCUMENT},
    "write-redirect": {Refusal.REDIRECT, Refusal.VARIABLE},
    "substitution": {Refusal.SUBSTITUTION, Refusal.PARENTHESES},
    "characters": {Refusal.CHARACTER, Refusal.COMMAND_WORD},
    "assignment": {Refusal.ASSIGNMENT, Refusal.SUBSTITUTION},
    "command-word": {Refusal.COMMAND_WORD, Refusal.HISTORY},
}


_RUN_OTHERS = {
    "eval",
    "exec",
    "command",
    "builtin",
    "trap",
    "mapfile",
    "env",
    "/usr/bin/env",
    "alias",
    "hash",
    "unset",
    ".",
    "source",
}


def _covers(rule: str, segment: Segment) -> bool:
    """Match as simply as can be: a test of the lexer needs no more."""
    words = rule.removesuffix("*").split()
    if not rule.rstrip().endswith("*"):
        return segment.text == rule.strip()
    pairs = zip(words, segment.words, strict=False)
    return 0 < len(words) <= len(segment.words) and all(word.plain and word.raw == text for text, word in pairs)


def _matches(row: dict[str, Any]) -> bool:
    reading = lex(row["command"])
    return isinstance(reading, Lexed) and all(
        segment.words[0].raw == "cd" or any(_covers(rule, segment) for rule in row["rules"])
        for segment in reading.segments
    )


def test_each_case_is_read_so_that_its_rules_match_or_do_not() -> None:
    assert len(ROWS) == 830
    assert [row["id"] for row in ROWS if row["id"] not in _BY_TEXT and _matches(row) is not row["expect_match"]] == []


def test_each_command_that_only_reads_is_read() -> None:
    assert [command for command in SAFE if not isinstance(lex(command), Lexed)] == []


def test_a_command_that_bash_rejects_is_refused() -> None:
    rejected = [row["command"] for row in ROWS if "syntax error" in row["observed"]]
    assert len(rejected) > 40
    assert [command for command in rejected if isinstance(lex(command), Lexed)] == []


def test_a_command_that_wrote_a_file_by_itself_is_refused() -> None:
    wrote = [row["command"] for row in ROWS if re.search(r"stub tools: files written", row["observed"])]
    assert len(wrote) > 30
    assert [command for command in wrote if isinstance(lex(command), Lexed)] == []


@pytest.mark.parametrize(("group", "codes"), _CODES.items())
def test_a_group_of_cases_is_refused_with_its_own_codes(group: str, codes: set[Refusal]) -> None:
    readings = [lex(row["command"]) for row in ROWS if row["id"].startswith(group)]
    assert {reading.code for reading in readings if isinstance(reading, Refused)} <= codes


def test_the_programs_that_ran_are_those_that_were_read() -> None:
    compared = {}
    for row in ROWS:
        reading = lex(row["command"])
        ran = re.search(r"stub tools: ran: (.*?)(?:; (?:files written|not found).*)?$", row["observed"], re.DOTALL)
        if not isinstance(reading, Lexed) or not ran or not _is_fixed(reading):
            continue
        ours = {" ".join(word.value for word in segment.words) for segment in reading.segments}
        compared[row["id"]] = set(ran[1].split(" ; ")) <= ours
    assert len(compared) > 250
    assert [case for case, is_right in compared.items() if not is_right] == []


def _is_fixed(reading: Lexed) -> bool:
    """Say whether nothing but what is written there runs."""
    return all(
        segment.words[0].value not in _RUN_OTHERS and all(word.literal for word in segment.words)
        for segment in reading.segments
    )
