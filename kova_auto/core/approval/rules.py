"""Say which grants cover a command: every segment needs a rule that matches it, save a plain `cd`.

What is found out is one value, from which a verdict is made and which `explain` prints: they cannot disagree.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kova_auto.core.approval.policy import Grant, Origin, Policy
from kova_auto.core.approval.shell.cd import passes
from kova_auto.core.approval.shell.lexer import lex
from kova_auto.core.approval.shell.refusal import Refused
from kova_auto.core.approval.shell.rule import Flawed, Rule, matches, parse_rule
from kova_auto.core.approval.shell.word import Segment
from kova_auto.core.approval.tables import Cell, Row, cell


@dataclass(frozen=True, slots=True)
class Consulted:
    """Hold one rule that was compared with a segment.

    Attributes:
        flaw: Why the rule can never match anything; empty for a sound one.
    """

    grant: Grant
    matched: bool
    flaw: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """Hold what was found for one segment.

    Attributes:
        compared: The rules it was compared with, in order; none for a `cd` that needs no rule.
        grant: The last of them, if that matched.
        free: A plain `cd`.
    """

    segment: Segment
    compared: tuple[Grant, ...] = ()
    grant: Grant | None = None
    free: bool = False

    @property
    def covered(self) -> bool:
        """Say whether the segment may run."""
        return self.free or self.grant is not None

    @property
    def name(self) -> str | None:
        """Return the name of the grant that covers it, as `grant.job:git log *`; None where no grant does."""
        return f"grant.{self.grant.origin}:{self.grant.text}" if self.grant else None

    @property
    def consulted(self) -> tuple[Consulted, ...]:
        """Return what came of each rule, in order."""
        return tuple(Consulted(one, one is self.grant, check_rule(one.text) or "") for one in self.compared)


@dataclass(frozen=True, slots=True)
class Coverage:
    """Hold what was found for a command.

    Attributes:
        parts: One for each segment, in order; none where the command was refused.
        refused: Why it was not read.
    """

    parts: tuple[Part, ...] = ()
    refused: Refused | None = None

    @property
    def covered(self) -> bool:
        """Say whether every segment may run; what was refused may not."""
        return bool(self.parts) and all(part.covered for part in self.parts)

    @property
    def grants(self) -> tuple[Grant, ...]:
        """Return the grants that cover something, each once, in the order of the segments."""
        return tuple(dict.fromkeys(part.grant for part in self.parts if part.grant))

    @property
    def uncovered(self) -> tuple[Segment, ...]:
        """Return the segments that no grant covers."""
        return tuple(part.segment for part in self.parts if not part.covered)

    @property
    def name(self) -> str:
        """Return the name of what let the command run, as `grant.job:git log *`; `safe:cd` where no rule was needed."""
        return ", ".join(dict.fromkeys(part.name for part in self.parts if part.name)) or "safe:cd"


def heeded(policy: Policy) -> tuple[Grant, ...]:
    """Return the command rules that count at the policy's level, in the order they are consulted."""
    match cell(policy.level, Row.COMMAND):
        case Cell.RULE | Cell.RULE_OR_SAFE:
            return policy.grants.commands
        case Cell.OWN_OR_SAFE:
            return tuple(grant for grant in policy.grants.commands if grant.origin is Origin.JOB)
        case _:
            return ()


def coverage(grants: Iterable[Grant], command: str) -> Coverage:
    """Return what the grants cover of a command, segment by segment."""
    read = lex(command)
    if isinstance(read, Refused):
        return Coverage(refused=read)
    offered = tuple(grants)
    parsed = [parse_rule(grant.text) for grant in offered]
    return Coverage(tuple(_part(segment, offered, parsed, command) for segment in read.segments))


def check_rule(rule: str) -> str | None:
    """Return what is wrong with a rule that can never match, or None."""
    parsed = parse_rule(rule)
    return parsed.says if isinstance(parsed, Flawed) else None


def _part(segment: Segment, offered: tuple[Grant, ...], parsed: list[Rule | Flawed], command: str) -> Part:
    if passes(segment):
        return Part(segment, free=True)
    name = segment.words[0].raw
    for at, rule in enumerate(parsed):
        # The name first: most rules are about another program, and a run may have hundreds.
        if isinstance(rule, Rule) and rule.name == name and matches(rule, segment, command):
            return Part(segment, offered[: at + 1], offered[at])
    return Part(segment, offered)
