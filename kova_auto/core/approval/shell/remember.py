"""Say what "allow and remember" would store for a command: rules that cover its kin, and never more than is shown.

Source: reference on shells, section 5; reference on the original, section 4.6.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kova_auto.core.approval.shell.cd import is_cd, passes
from kova_auto.core.approval.shell.lexer import lex
from kova_auto.core.approval.shell.objection import as_subcommand, base_name, objection
from kova_auto.core.approval.shell.project_code import project_code
from kova_auto.core.approval.shell.refusal import Refused, say
from kova_auto.core.approval.shell.rule import Rule, matches, parse_rule
from kova_auto.core.approval.shell.word import Segment

MAX_RULES = 5
MAX_REASONS = 3

_ONCE = "This approval is for this one time"


@dataclass(frozen=True, slots=True)
class Offered:
    """Hold a rule that would be stored.

    Attributes:
        text: One or two words and `*`.
        project_code: What of the workspace it runs, as the rest of a sentence; empty where nothing.
    """

    text: str
    project_code: str = ""


@dataclass(frozen=True, slots=True)
class Uncovered:
    """Hold a segment that no offered rule covers: the command would be asked about again because of it.

    Attributes:
        why: The rest of a sentence behind `because`.
    """

    text: str
    why: str


@dataclass(frozen=True, slots=True)
class Offer:
    """Hold what would be stored for a command, at most five rules, and what stays uncovered.

    Attributes:
        why_not: A sentence for the card where there is no rule; empty where there is one.
    """

    rules: tuple[Offered, ...] = ()
    uncovered: tuple[Uncovered, ...] = ()
    why_not: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        """Return the rules as they would be stored, in the order of the command."""
        return tuple(rule.text for rule in self.rules)


def offer(command: str) -> Offer:
    """Return the rules that would be stored for a command, or why none can be."""
    read = lex(command)
    if isinstance(read, Refused):
        return Offer(why_not=f"{_ONCE}. {say(read)}")
    rules: dict[str, Offered] = {}
    left: list[tuple[Segment, str]] = []
    for segment in read.segments:
        found = _derived(segment)
        if isinstance(found, str):
            left.append((segment, found))
        elif len(rules) < MAX_RULES:
            rules.setdefault(found.text, found)
        else:
            left.append((segment, f"at most {MAX_RULES} rules are stored at once"))
    uncovered = tuple(Uncovered(one.text, why) for one, why in left if not _covered(one, rules, command))
    return Offer(tuple(rules.values()), uncovered, "" if rules else _why_not(uncovered))


def _derived(segment: Segment) -> Offered | str:
    """Return the rule for a segment, or why there is none."""
    if is_cd(segment):
        return "cd passes only in its plain form: cd DIRECTORY"
    name = segment.words[0].raw
    second = segment.words[1] if len(segment.words) > 1 else None
    subcommand = as_subcommand(second.raw) if second and second.plain else None
    if found := objection(name, subcommand):
        return found.says
    text = f"{name} *" if subcommand is None else f"{name} {subcommand} *"
    return Offered(text, project_code(base_name(name), subcommand))


def _covered(segment: Segment, rules: Iterable[str], command: str) -> bool:
    """Say whether a segment that gave no rule is covered all the same: by another's, or because it needs none."""
    sound = (rule for rule in map(parse_rule, rules) if isinstance(rule, Rule))
    return passes(segment) or any(matches(rule, segment, command) for rule in sound)


def _why_not(uncovered: tuple[Uncovered, ...]) -> str:
    if not uncovered:
        return f"{_ONCE}: cd needs no rule."
    whys = list(dict.fromkeys(one.why for one in uncovered))
    more = f"; and {len(whys) - MAX_REASONS} more" if len(whys) > MAX_REASONS else ""
    return f"{_ONCE}, because {'; and '.join(whys[:MAX_REASONS])}{more}."
