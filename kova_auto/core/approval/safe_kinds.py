"""The kinds of words that the safe list knows: what a value or an operand must look like."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

Kind = re.Pattern[str]

# `env` shows secrets; the others read files that no word names. `.env` is a field.
_JQ = r"(?!.*(?<![.\w])(?:env|ENV|import|include|modulemeta|get_search_list)\b).*"

_NOT_ROOT = r"(?!/[/.]*$)(?!/(?:.*/)?\.\.(?:/|$))"

_KINDS: Mapping[str, str] = {
    "ANY": r".*",
    "NOTHING": r"(?!)",
    "NUMBER": r"\+?[0-9]{1,9}",
    "SIGNED": r"[+-]?[0-9.]{1,18}[A-Za-z]?",
    "MODE": r"[-/]?[0-7ugoarwxXst,=+]+",
    "SIZE": r"\+?[0-9]{1,9}(?:b|[kKmMGT](?:i?B)?)?",
    "LIST": r"[0-9,-]+",
    "NAME": r"[A-Za-z0-9_.:,+-]*",
    "PERCENT": r"[0-9]*%?",
    "SORTKEY": r"[0-9.,A-Za-z]+",
    # Root holds the kernel's files, which a search below it would read.
    "SEARCHED": rf"{_NOT_ROOT}.*",
    # `-` is where the shell was before.
    "PLACE": rf"(?!-$){_NOT_ROOT}.*",
    "NOT_AT": r"(?!@).*",
    "PLUS": r"\+.*",
    "COMMAND": r"[A-Za-z0-9_.+][A-Za-z0-9_.+-]*",
    # `%G…` and `signature` start gpg.
    "FORMAT": r"(?!.*%[-+ ]?G)(?!.*signature).*",
    "FIELD": r"(?!.*signature)-?[A-Za-z:]+",
    "DOTTED": r"[A-Za-z0-9-]+(?:\.[^\s]+)+",
    "SUBMODULES": r"all|dirty|untracked|none",
    "LINES": r"[0-9]+(?:,(?:[0-9]+|\$))?p",
    "JQ": _JQ,
    # No path, address or archive: npm would unpack it, and run what it says.
    "PACKAGE": r"(?!.*\.t(?:ar|gz)\b)(?:@[\w.-]+/)?[\w-][\w.-]*(?:@[\w.^~<>=*+-]+)?",
    # A number, a branch or an address.
    "REFERENCE": r"[A-Za-z0-9#_][\w./:#-]*",
    "IMPORT": r"(?:\.{1,2}(?:/|$))?[\w./@~+-]*",
    "VARIABLE": r"[A-Z][A-Z0-9_]*",
    "FIELDS": r"[A-Za-z][A-Za-z,]*",
}


@cache
def kind(name: str) -> Kind:
    """Return the pattern that a word of a kind matches whole."""
    return re.compile(_KINDS[name], re.DOTALL | re.ASCII)
