"""Say which rules reach further than they look, for `doctor` and `rules list`; the rules stay valid all the same.

A rule that "allow and remember" would never store may be written by hand. What is found here is about the rule's words
alone: which options follow is the sandbox's to hold.

Source: reference on shells, section 5.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from kova_auto.core.approval.shell.objection import Objection, as_subcommand, base_name, objection
from kova_auto.core.approval.shell.project_code import project_code
from kova_auto.core.approval.shell.rule import Flawed, Rule, parse_rule
from kova_auto.core.approval.shell.unrememberable import Kind


class Grade(StrEnum):
    """Say how far a rule reaches, the furthest first."""

    ANY_CODE = "any_code"
    WRITES = "writes"  # files, processes or services of anybody's choice
    PROJECT_CODE = "project_code"  # what the workspace says, and a run may write the workspace
    NEVER = "never"  # it cannot match at all


_SAYS = {
    Grade.ANY_CODE: "grants arbitrary code",
    Grade.WRITES: "grants writing past the file tools",
    Grade.PROJECT_CODE: "runs project code",
}
_FILES = "runs files of the workspace, which a run may change"
# Of these a second word says what runs; of all others any word may be an option that does.
_PINNED = frozenset((Kind.INTERPRETER, Kind.BUILDER, Kind.MULTIPLEXER, Kind.REMOTE))
_RUNS_FILES = frozenset((Kind.INTERPRETER, Kind.BUILDER, Kind.SCRIPT))
# What is between one of these and the command that it runs can be told from a command.
_FRONT = frozenset(
    ("nohup", "nice", "ionice", "timeout", "env", "sudo", "doas", "setsid", "stdbuf", "command", "exec", "builtin")
)
_NO_COMMAND = re.compile(r"-.*|\d.*|[A-Z]+|[A-Za-z_]\w*=.*")
# Interpreters whose program is one of the words, so that no file pins it; and subcommands that take a command.
_PROGRAM_IN_WORDS = frozenset(("sed", "gsed", "awk", "gawk", "mawk", "nawk", "goawk"))
_BY_SUBCOMMAND = frozenset(("docker", "podman", "nerdctl", "kubectl", "oc", "helm"))
_REMOTE_RUNS = frozenset(
    (
        *("run", "exec", "create", "build", "compose", "buildx", "cp", "start", "debug", "attach"),
        *("apply", "install", "upgrade"),
    )
)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Hold how far a rule reaches, and why, as one sentence."""

    rule: str
    grade: Grade
    says: str


def diagnose(text: str) -> Diagnosis | None:
    """Return what a rule grants beyond what it shows, or None where nothing is known of it."""
    rule = parse_rule(text)
    if isinstance(rule, Flawed):
        return Diagnosis(text, Grade.NEVER, f"{text!r} matches nothing: {rule.says}.")
    words = _run_by(rule)
    name, second = words[0], as_subcommand(words[1]) if len(words) > 1 else None
    found = objection(name, second)
    grade = _grade(found, words, rule) if found else None
    if found and grade:
        says = f"{name} {_FILES}" if grade is Grade.PROJECT_CODE else found.says
        return Diagnosis(text, grade, f"{text!r} {_SAYS[grade]}: {says}.")
    if says := project_code(base_name(name), second):
        return Diagnosis(text, Grade.PROJECT_CODE, f"{text!r} {_SAYS[Grade.PROJECT_CODE]}: {name} {says}.")
    return None


def _run_by(rule: Rule) -> tuple[str, ...]:
    """Return the words of the command that a rule runs in the end; its own where none can be told."""
    words = tuple(word.raw for word in rule.words)
    while words and base_name(words[0]) in _FRONT:
        at = next((at for at, word in enumerate(words[1:], 1) if not _NO_COMMAND.fullmatch(word)), None)
        if at is None:
            return words
        words = words[at:]
    return words


def _grade(found: Objection, words: tuple[str, ...], rule: Rule) -> Grade | None:
    kind = found.kind
    if not rule.is_prefix:
        return Grade.PROJECT_CODE if kind in _RUNS_FILES and not _is_inline(words) else None
    if kind is Kind.WRITER:
        return Grade.WRITES
    if kind is Kind.SCRIPT:
        return Grade.PROJECT_CODE
    return _pinned(kind, words) if kind in _PINNED else Grade.ANY_CODE


def _is_inline(words: tuple[str, ...]) -> bool:
    """Say whether an interpreter's code stands in the rule itself, so that no file decides."""
    return base_name(words[0]) in _PROGRAM_IN_WORDS or any(word in ("-c", "-e") for word in words)


def _pinned(kind: Kind, words: tuple[str, ...]) -> Grade | None:
    base = base_name(words[0])
    is_open = len(words) == 1 or words[-1].startswith("-")
    is_open = is_open or (kind is Kind.INTERPRETER and _is_inline(words))
    if is_open or kind is Kind.MULTIPLEXER:
        return Grade.ANY_CODE
    if kind is Kind.REMOTE:
        return None if base in _BY_SUBCOMMAND and words[1] not in _REMOTE_RUNS else Grade.ANY_CODE
    return Grade.PROJECT_CODE
