"""The cases catch each widening of the safe list: a dangerous option added, a command added, a limit taken away."""

from __future__ import annotations

import json
import string
from collections.abc import Mapping
from pathlib import Path

import pytest

from kova_auto.core.approval.safe import read_only
from kova_auto.core.approval.safe_commands import COMMANDS
from kova_auto.core.approval.safe_table import Style, Table

CASES = Path(__file__).parents[2] / "cases"

OPTIONS = [
    ("git log", "--output=ANY"),
    ("git log", "--outp=ANY"),
    ("git log", "--textconv"),
    ("git log", "--show-signature"),
    ("git log", "--remerge-diff"),
    ("git diff", "--ext-diff"),
    ("git diff", "--no-index"),
    ("git diff", "--output=ANY"),
    ("git show", "-O=ANY"),
    ("git show", "--ext-diff"),
    ("git status", "-v"),
    ("git branch", "-D=ANY"),
    ("git branch", "-m --move -d"),
    ("git branch", "-f"),
    ("git branch", "-u=ANY"),
    ("git branch", "--edit-description"),
    ("git tag", "-d"),
    ("git tag", "-v=ANY"),
    ("git cat-file", "--textconv"),
    ("git cat-file", "--filters"),
    ("git blame", "--contents=ANY"),
    ("git describe", "--dirty"),
    ("git grep", "-O?=ANY"),
    ("git grep", "--open-files-in-pager?=ANY"),
    ("git grep", "--textconv"),
    ("git ls-files", "--exclude-from=ANY"),
    ("git config", "--edit"),
    ("git config", "--unset"),
    ("git config", "--file=ANY"),
    ("sort", "-o=ANY"),
    ("sort", "--output=ANY"),
    ("sort", "-T=ANY"),
    ("sort", "--compress-program=ANY -S=ANY"),
    ("sort", "--files0-from=ANY"),
    ("wc", "--files0-from=ANY"),
    ("du", "--files0-from=ANY"),
    ("tree", "-o=ANY"),
    ("tree", "-R"),
    ("xxd", "-r"),
    ("xxd", "-revert"),
    ("find", "-delete"),
    ("find", "-exec"),
    ("find", "-ok"),
    ("find", "-execdir"),
    ("find", "-fprint=ANY"),
    ("find", "-fprintf=ANY+ANY"),
    ("find", "-fls=ANY"),
    ("find", "-files0-from=ANY"),
    ("fd", "-x"),
    ("fd", "--exec"),
    ("fd", "-X"),
    ("fd", "-l"),
    ("rg", "--pre=ANY"),
    ("rg", "--hostname-bin=ANY"),
    ("rg", "-z"),
    ("rg", "--search-zip"),
    ("sed", "-i"),
    ("sed", "-f=ANY"),
    ("sed", "-e=ANY"),
    ("jq", "-f=ANY"),
    ("jq", "-f"),
    ("jq", "--from-file=ANY"),
    ("jq", "--rawfile=NAME+ANY"),
    ("jq", "--slurpfile=NAME+ANY"),
    ("jq", "--argfile=NAME+ANY"),
    ("jq", "-L=ANY"),
    ("diff", "-l"),
    ("diff", "--paginate"),
    ("file", "-C -m=ANY"),
    ("file", "-z"),
    ("file", "-p"),
    ("date", "-s=ANY"),
    ("date", "--set=ANY"),
    ("tail", "-f"),
    ("tail", "--follow?=ANY"),
    ("pip list", "--python=ANY"),
    ("pip list", "--log=ANY"),
    ("npm ls", "--prefix=ANY"),
    ("npm ls", "--script-shell=ANY"),
    ("npm view", "--registry=ANY"),
    ("npm outdated", "--userconfig=ANY"),
    ("cargo tree", "--manifest-path=ANY"),
    ("cargo metadata", "--config=ANY"),
    ("go list", "-toolexec=ANY"),
    ("go list", "-export"),
    ("go list", "-compiled"),
    ("go list", "-mod=ANY"),
    ("go list", "-modfile=ANY"),
    ("go list", "-C=ANY"),
    ("go env", "-w=ANY"),
    ("go env", "-u"),
    ("gh pr list", "--web"),
    ("gh pr view", "-w"),
]
LIMITS: list[tuple[str, str, object]] = [
    ("cd", "operands", "ANY"),
    ("cd", "most", None),
    ("uniq", "most", None),
    ("xxd", "most", None),
    ("git branch", "lists", ""),
    ("git tag", "lists", ""),
    ("git remote", "operands", "ANY"),
    ("git reflog", "operands", "ANY"),
    ("git config", "operands", "ANY"),
    ("git config", "most", None),
    ("git symbolic-ref", "most", None),
    ("git status", "settings", False),
    ("git log", "settings", False),
    ("npm ls", "settings", False),
    ("npm view", "operands", "ANY"),
    ("pip list", "settings", False),
    ("date", "operands", "ANY"),
    ("hostname", "operands", "ANY"),
    ("node --version", "operands", "ANY"),
    ("grep", "operands", "ANY"),
    ("rg", "operands", "ANY"),
    ("diff", "operands", "ANY"),
    ("find", "ends", True),
    ("tree", "ends", True),
    ("tree", "style", Style.GNU),
    ("jq", "ends", True),
    ("jq", "program", "ANY"),
    ("sed", "program", "ANY"),
    ("sed", "must", ""),
    ("cargo tree", "must", ""),
    ("cargo tree", "must", "--offline"),
]
KINDS = [("git log", "FORMAT"), ("git branch", "FORMAT"), ("gh run view", "JQ")]
COMMANDS_TOO_MANY = """
git|git stash|git stash drop|git fetch|git ls-remote|git checkout|git format-patch|git archive|git worktree|git notes
git help|git remote show|git bisect|git rebase|ps|env|printenv|awk|tar|unzip|gzip|curl|wget|ping|nslookup|ssh|xargs
printf|read|export|hash|test|timeout|nice|sudo|command|exec|eval|source|.|bash|python3|node|npm|npm install|npm run
npm exec|npx|pip|pip install|pip config|cargo check|cargo run|go build|go run|gh api|gh alias|gh pr create|docker|make
less|man|vim|split|csplit|tee|dd|touch|cp|mv|ln|rm|mkdir|chmod|/bin/ls|./ls
""".replace("\n", "|")


def _unsafe() -> list[str]:
    more, hard = ((CASES / name).read_text("utf-8").splitlines() for name in ("shell_safe_more.jsonl", "shell.jsonl"))
    rows = [row["command"] for row in map(json.loads, more) if not row["safe"]]
    return rows + [row["command"] for row in map(json.loads, hard) if row.get("hardened_match") is False]


UNSAFE = _unsafe()


def _table(name: str) -> Table:
    return COMMANDS[tuple(name.split())]


def _is_caught(name: str, table: Table) -> bool:
    """Say whether a case would fail if `name` had this table."""
    changed: Mapping[tuple[str, ...], Table] = {tuple(name.split()): table}
    commands = {**COMMANDS, **changed}
    return any(read_only(command, commands) for command in UNSAFE if name.split(maxsplit=1)[0] in command)


@pytest.mark.parametrize(("name", "options"), OPTIONS, ids=lambda part: part)
def test_an_option_that_does_more_than_read_would_be_noticed(name: str, options: str) -> None:
    table = _table(name)
    assert _is_caught(name, table._replace(options=f"{table.options} {options}"))


@pytest.mark.parametrize(("name", "attribute", "value"), LIMITS, ids=str)
def test_a_limit_that_is_taken_away_would_be_noticed(name: str, attribute: str, value: object) -> None:
    assert _is_caught(name, Table(**{**_table(name)._asdict(), attribute: value}))


@pytest.mark.parametrize(("name", "kind"), KINDS, ids=str)
def test_a_value_that_may_be_anything_would_be_noticed(name: str, kind: str) -> None:
    table = _table(name)
    assert _is_caught(name, table._replace(options=table.options.replace(f"={kind}", "=ANY")))


@pytest.mark.parametrize("name", [name for name in COMMANDS_TOO_MANY.split("|") if name])
def test_a_command_that_does_more_than_read_would_be_noticed(name: str) -> None:
    letters = string.ascii_letters + string.digits
    assert _is_caught(name, Table(f"-[{letters}]"))
