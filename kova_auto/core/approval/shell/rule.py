"""Read a command rule and match it against one segment.

A rule is words separated by blanks. With `*` at its end it covers every command that begins with those words, as whole
words; without, only a command that is written exactly so. Words are compared as they were typed: `"git" log` is not
`git log`, and neither is what a backslash joins over two lines. Redirects are no words: the lexer lets only those pass
that write nothing.

Source: reference on shells, section 3.3.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

from kova_auto.core.approval.shell.lexer import lex
from kova_auto.core.approval.shell.refusal import Refused
from kova_auto.core.approval.shell.word import Segment, Word

_BLANKS = re.compile(r"[ \t]+")
_SHAPE = "write plain words, and * only at the end: git log *"
_EVALUATING = frozenset(("test", "[", "printf", "read", "unset", "declare", "typeset", "local", "export", "let"))
"""Built-ins that run the code in a subscript, as `a[$(x)]`: a file's name, or what a variable holds, may be one."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Hold a rule that can match.

    Attributes:
        text: As it was written, without blanks around it.
        words: Without the `*`; at least one.
        is_prefix: More words may follow.
        name: Of the command: its first word.
    """

    text: str
    words: tuple[Word, ...]
    is_prefix: bool
    name: str = field(init=False)

    def __post_init__(self) -> None:
        """Name the command."""
        object.__setattr__(self, "name", self.words[0].raw)


@dataclass(frozen=True, slots=True)
class Flawed:
    """Say in a sentence what is wrong with a rule that can never match."""

    says: str


@lru_cache(maxsize=1024)  # Each call of a run is judged by the same rules.
def parse_rule(text: str) -> Rule | Flawed:
    """Return the rule that a text means, or what is wrong with it."""
    trimmed = text.strip(" \t\n")
    if not trimmed:
        return Flawed("an empty rule matches nothing; write a command, or the start of one followed by *")
    if not trimmed.strip("* \t"):
        return Flawed('a rule of nothing but * would be every command; name one, or say commands = "confined"')
    is_prefix = trimmed.endswith("*")
    start = trimmed.removesuffix("*").rstrip(" \t")
    read = lex(start)
    if isinstance(read, Refused):
        return Flawed(f"no command can match this ({read.code} at character {read.at + 1}); {_SHAPE}")
    segment = read.segments[0]
    if len(read.segments) > 1:
        return Flawed(f"a rule covers one command, and this is {len(read.segments)}; write a rule for each")
    if segment.text not in (start, _BLANKS.sub(" ", start)):
        return Flawed(
            "no command can match this; leave out redirects, comments, parentheses and what ends a command, "
            "which are no words, and separate words by single blanks"
        )
    if not is_prefix and segment.text != start:
        return Flawed("a rule without * at its end is compared letter by letter; separate words by single blanks")
    # An exact rule may hold a variable or a glob, which it does not widen; a lone * is meant to.
    if loose := [word.raw for word in segment.words if not word.literal and (is_prefix or word.raw == "*")]:
        return Flawed(f"no command can match this, because {loose[0]} may turn into anything; {_SHAPE}")
    return Rule(trimmed, segment.words, is_prefix)


def matches(rule: Rule, segment: Segment, command: str) -> bool:
    """Say whether a rule covers one segment of `command`; an exact rule must stand in that to the letter.

    A program that evaluates its words is covered only where each of them is exactly what it is handed.
    """
    if segment.words[0].raw in _EVALUATING and not all(word.literal for word in segment.words):
        return False
    if rule.is_prefix:
        return segment.words[: len(rule.words)] == rule.words
    return segment.words == rule.words and rule.text in command and not segment.reads
