"""Try rules out on commands: one for a person, or as many as a program sends, each answered as it comes."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

from kova_auto.cli.job_rows import JsonDict
from kova_auto.cli.output import GREEN, RED, paint, say, say_json
from kova_auto.cli.verdicts import coverage_json, coverage_lines
from kova_auto.core.approval.policy import Grant
from kova_auto.core.approval.rules import Coverage, coverage
from kova_auto.core.approval.safe import read_only
from kova_auto.core.approval.shell.remember import offer
from kova_auto.core.approval.trial import trial
from kova_auto.core.delivery.text import one_line

_WIDE = 400
_SHAPE = 'wanted an object as {"command": "git log", "rules": ["git log *"]}'


def show_trial(command: str, grants: tuple[Grant, ...], *, as_json: bool) -> bool:
    """Show what rules make of a command; return whether they let all of it run."""
    found = coverage(grants, command)
    if as_json:
        tried = asdict(trial(command, [grant.text for grant in grants]))
        say_json({"command": command, **tried, "rule": found.name if found.covered else None, **coverage_json(found)})
        return found.covered
    say(_outcome(found))
    for line in coverage_lines(found):
        say(line)
    names = read_only(command)
    say(f"only reads: {names}" if names else "not known to only read")
    say(_remembered(command))
    return found.covered


def answer_lines() -> bool:
    """Answer each line of standard input, as soon as it is there; return whether all could be read."""
    is_sound = True
    for number, line in enumerate(sys.stdin.buffer, start=1):
        if not line.strip():
            continue
        try:
            answer = _answer(line)
        except ValueError as exc:  # not UTF-8, no JSON, or not such an object
            answer, is_sound = {"line": number, "error": one_line(f"{_SHAPE}: {exc}", _WIDE)}, False
        except RecursionError:
            answer, is_sound = {"line": number, "error": f"{_SHAPE}: it is nested too deep"}, False
        say(json.dumps(answer))
    return is_sound


def _answer(line: bytes) -> JsonDict:
    """Return the answer to one line.

    Raises:
        ValueError: It is no such object.
    """
    asked = json.loads(line.decode())
    command = asked.get("command") if isinstance(asked, dict) else None
    rules = asked.get("rules", []) if isinstance(asked, dict) else None
    if not isinstance(command, str) or not isinstance(rules, list) or not all(isinstance(rule, str) for rule in rules):
        message = "found another"
        raise ValueError(message)
    return asdict(trial(command, rules))


def _outcome(found: Coverage) -> str:
    if found.covered:
        return f"{paint('covered', GREEN)}: {one_line(found.name, _WIDE)}"
    return f"{paint('not covered', RED)}: the rules do not let all of it run"


def _remembered(command: str) -> str:
    offered = offer(command)
    if not offered.rules:
        return f"would not be remembered: {one_line(offered.why_not, _WIDE)}"
    left_out = "; ".join(f"not {part.text}, because {part.why}" for part in offered.uncovered)
    return one_line(f"would be remembered: {'; '.join(offered.texts)}{left_out and f' ({left_out})'}", _WIDE)
