"""Know the `cd` that needs no rule: it changes only what the later segments mean, and those need rules of their own.

Source: reference on shells, section 3.3.
"""

from __future__ import annotations

import re

from kova_auto.core.approval.shell.word import Segment

# Text, a home directory or a variable; outside quotes no glob and no brace.
_PLACE = re.compile(
    r"""(?: [^\\'"*?\[\]{}] | \$\{\w+\} | \\. | '[^']*' | "(?:[^"\\]|\\.)*" )+""", re.VERBOSE | re.DOTALL
)


def is_cd(segment: Segment) -> bool:
    """Say whether a segment changes the directory, in whatever form."""
    return segment.words[0].raw == "cd"


def passes(segment: Segment) -> bool:
    """Say whether a segment is a `cd` in its plain form: `cd [-L|-P] [--] [one word]`, nothing redirected into it."""
    if not is_cd(segment) or segment.reads:
        return False
    rest = list(segment.words[1:])
    if rest and rest[0].raw in ("-L", "-P"):
        rest.pop(0)
    if rest and rest[0].raw == "--":
        return len(rest) <= 2 and all(_PLACE.fullmatch(word.raw) for word in rest[1:])
    return len(rest) <= 1 and all(word.value == "-" or _is_place(word.raw, word.value) for word in rest)


def _is_place(raw: str, value: str) -> bool:
    return not value.startswith("-") and bool(_PLACE.fullmatch(raw))
