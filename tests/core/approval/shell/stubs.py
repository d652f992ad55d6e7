"""The second oracle: bash runs a command, confined, with stub programs only; they tell what they were handed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kova_auto.core.approval.shell.lexer import lex
from kova_auto.core.approval.shell.word import Lexed, Reading, Segment
from kova_auto.tools.sandbox.bwrap import bwrap_argv
from kova_auto.tools.sandbox.control import Controls
from kova_auto.tools.sandbox.plan import Confinement, Level
from kova_auto.tools.sandbox.select import find_bwrap
from tests.core.approval.shell.commands import NAMES, VARIABLES

DRIVER = Path(__file__).with_name("stub_driver.py")
BUILTINS = frozenset(("[", ":"))
"""What may come out by accident and is no program."""

# What a command that is read may still meet: no such file, no such descriptor, a builtin with odd arguments.
_EXPECTED = re.compile(
    r"No such file or directory|Not a directory|Is a directory|null: Permission denied|Bad file descriptor"
    r"|line \d+: \[: "
)
_NOT_FOUND = re.compile(r"line \d+: (.*): command not found")


@dataclass(frozen=True, slots=True)
class Outcome:
    """Tell what became of a command.

    Attributes:
        ran: The argument lists of the programs that ran, in no order.
        files: What is there afterwards.
    """

    ran: list[list[str]]
    files: list[str]
    complaints: str


def outcomes(commands: Sequence[str], names: Sequence[str] = NAMES) -> list[Outcome]:
    """Run each command by itself, in a confinement in which nothing of this machine can be written."""
    bwrap = find_bwrap()
    assert bwrap is not None
    nowhere = Path("/dev/shm")
    inside = Confinement(level=Level.READING, workspace=nowhere, temp=nowhere, cwd=nowhere)
    driver = [sys.executable, "-I", "-c", DRIVER.read_text(encoding="utf-8")]
    done = subprocess.run(
        bwrap_argv(bwrap, inside, (), Controls(), driver, "stubs"),
        input=json.dumps({"names": names, "commands": commands, "variables": VARIABLES}),
        capture_output=True,
        text=True,
        check=True,
        timeout=120 + len(commands),
    )
    return [Outcome(**outcome) for outcome in json.loads(done.stdout)]


def surprises(commands: Sequence[str], read: Callable[[str], Reading] = lex) -> dict[str, str]:
    """Return the commands that `read` understands and that ran or wrote something else, and what.

    Those with a `.` are left out: it would read a stub's own text.
    """
    readings = ((command, read(command)) for command in commands)
    asked = [
        (command, reading) for command, reading in readings if isinstance(reading, Lexed) and not _sources(reading)
    ]
    found = zip(asked, outcomes([command for command, _ in asked]), strict=True)
    said = {command: _surprise(command, reading, outcome) for (command, reading), outcome in found}
    return {command: what for command, what in said.items() if what}


def _sources(reading: Lexed) -> bool:
    return any(segment.words[0].value == "." for segment in reading.segments)


def _surprise(command: str, reading: Lexed, outcome: Outcome) -> str:
    """Return what happened that the reading does not foretell, empty where nothing did."""
    if outcome.files:
        return f"wrote {outcome.files}"
    left = [segment for segment in reading.segments if segment.words[0].value not in BUILTINS]
    for complaint in re.split(r"^(?=/bin/bash: )", outcome.complaints, flags=re.MULTILINE)[1:]:
        missing = _NOT_FOUND.search(complaint)
        named = [segment for segment in left if missing and segment.words[0].value == missing[1]]
        if named:
            left.remove(named[0])
        elif not _EXPECTED.search(complaint):
            return f"bash says {complaint}"
    missed = _unmatched(outcome.ran, left)
    if missed is None:
        return f"ran {outcome.ran}, of {[segment.text for segment in left]}"
    if missed and not outcome.complaints and _runs_whole(command, reading):
        return f"did not run all of {[segment.text for segment in left]}"
    return ""


def _unmatched(ran: list[list[str]], left: list[Segment]) -> int | None:
    """Return how many segments are left once each argument list has its own, None where one finds none."""
    if not ran:
        return len(left)
    for at, segment in enumerate(left):
        if _fits(segment, ran[0]) and (missed := _unmatched(ran[1:], left[:at] + left[at + 1 :])) is not None:
            return missed
    return None


def _fits(segment: Segment, argv: list[str]) -> bool:
    """Return whether a program may have been handed `argv`: exactly that, or what varies comes between."""
    values = [word.value for word in segment.words]
    if all(word.literal for word in segment.words):
        return values == argv
    rest = iter(argv[1:])
    return values[0] == argv[0] and all(word.value in rest for word in segment.words[1:] if word.literal)


def _runs_whole(command: str, reading: Lexed) -> bool:
    """Return whether every program runs, as each succeeds and no redirect fails with its complaint thrown away."""
    named = {segment.words[0].value for segment in reading.segments}
    read = {word.value for segment in reading.segments for word in segment.reads}
    joined = command.replace("\\\n", "")
    fails = re.search(r"[<>]&\s*(?![12]\b)", joined)
    return "||" not in joined and named <= set(NAMES) - BUILTINS and read <= {"/dev/null"} and not fails
