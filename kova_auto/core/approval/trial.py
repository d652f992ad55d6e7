"""Answer in one value what the rules engine makes of a command: what `rules test --jsonl` prints for each line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kova_auto.core.approval.policy import Grant, Origin
from kova_auto.core.approval.rules import Coverage, coverage
from kova_auto.core.approval.safe import hardened
from kova_auto.core.approval.shell.remember import offer

COVERED = "covered"
NO_RULE = "no_rule"


@dataclass(frozen=True, slots=True)
class Trial:
    """Hold what would come of a command under some rules.

    Attributes:
        match: The rules cover every part of it.
        safe: It only reads, by construction, and no rule leaves open what its program is told to do.
        remember: What "allow and remember" would store, in the order of the command; None where it is not offered.
        reason: `covered`, `no_rule`, or the code of why the command is not read.
    """

    match: bool
    safe: bool
    remember: tuple[str, ...] | None
    reason: str


def trial(command: str, rules: Iterable[str]) -> Trial:
    """Return what would come of a command under these rules; a rule that can never match counts as none."""
    texts = tuple(rules)
    found = coverage((Grant(rule, Origin.JOB) for rule in texts), command)
    return Trial(
        match=found.covered,
        safe=hardened(texts, command),
        remember=offer(command).texts or None,
        reason=_reason(found),
    )


def _reason(found: Coverage) -> str:
    if found.refused:
        return found.refused.code.value
    return COVERED if found.covered else NO_RULE
