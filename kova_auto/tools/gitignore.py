"""Reads `.gitignore` files as git does: which patterns there are, and which of them decides about a path.

Names are compared byte by byte, as Latin-1 text.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from kova_auto.tools.wildcard import BadPatternError, compile_wildcard

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Rule:
    """Hold one line.

    Attributes:
        anchored: It holds a slash: compared with the path below the file's directory, not with the name alone.
    """

    match: re.Pattern[str]
    anchored: bool
    directories: bool
    excludes: bool


@dataclass(frozen=True, slots=True)
class Rules:
    """Hold what applies in a directory: the rules of each level above it, the nearest last.

    Attributes:
        levels: Each with the components of the directory that it belongs to, below the top of the repository.
    """

    levels: tuple[tuple[tuple[str, ...], tuple[Rule, ...]], ...] = ()

    def below(self, parts: tuple[str, ...], data: bytes) -> Rules:
        """Return the rules with those of one more file."""
        rules = parse_rules(data)
        return Rules((*self.levels, (parts, rules))) if rules else self

    def exclude(self, parts: Sequence[str], *, directory: bool) -> bool:
        """Say whether the last rule that matches a path excludes it; none above the path may be excluded."""
        if not self.levels:
            return False
        names = [_bytewise(part) for part in parts]
        for base, rules in reversed(self.levels):
            below = "/".join(names[len(base) :])
            for rule in reversed(rules):
                if rule.directories and not directory:
                    continue
                if rule.match.fullmatch(below if rule.anchored else names[-1]):
                    return rule.excludes
        return False


def parse_rules(data: bytes) -> tuple[Rule, ...]:
    """Return a file's rules, first to last."""
    lines = data.removeprefix(_BOM).decode("latin-1").split("\n")
    return tuple(rule for line in lines if (rule := _rule(line.removesuffix("\r"))))


def _rule(line: str) -> Rule | None:
    if not line or line.startswith("#"):
        return None
    text = _without_blanks(line)
    negated = text.startswith("!")
    text = text[negated:]
    directories = text.endswith("/")
    text = text[: len(text) - directories]
    if not text:
        return None
    anchored = "/" in text
    try:
        match = compile_wildcard(text.removeprefix("/") if anchored else text)
    except BadPatternError:
        return None
    return Rule(match, anchored, directories, excludes=not negated)


def _without_blanks(line: str) -> str:
    """Return the line without trailing blanks that are not escaped."""
    kept = line.rstrip(" ")
    if len(kept) == len(line):
        return line
    slashes = len(kept) - len(kept.rstrip("\\"))
    return kept + " " if slashes % 2 else kept


def _bytewise(name: str) -> str:
    return os.fsencode(name).decode("latin-1")
