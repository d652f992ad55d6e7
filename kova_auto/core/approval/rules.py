"""Match a command's words against a rule: an exact command, or a prefix of whole words that ends in `*`.

A rule compares words as they were typed: `"git" log` is not `git log`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kova_auto.core.approval.words import segments

if TYPE_CHECKING:
    from kova_auto.core.approval.policy import Grant


def matches(rule: str, words: tuple[str, ...]) -> bool:
    """Say whether a rule covers one simple command; a rule that `check_rule` complains of covers nothing."""
    wanted, is_prefix = _read(rule)
    if not wanted:
        return False
    return words[: len(wanted)] == wanted if is_prefix else words == wanted


def check_rule(rule: str) -> str | None:
    """Return what is wrong with a rule that can never match, or None."""
    if not rule.strip():
        return "an empty rule matches nothing; write a command, or the start of one followed by *"
    if not rule.strip(" *"):
        return 'a rule of nothing but * would be every command; name one, or say commands = "confined"'
    if not _read(rule)[0]:
        return (
            "no command can match this; write plain words with single blanks (no operators, redirects, expansions, "
            "escapes or assignments), and * only at the end: git log *"
        )
    return None


def granting(grants: Iterable[Grant], command: str) -> tuple[Grant, ...]:
    """Return the grants that together cover a command, empty where any part of it is not covered."""
    parts = segments(command)
    if not parts:
        return ()
    offered = tuple(grants)
    found = [next((grant for grant in offered if matches(grant.text, words)), None) for words in parts]
    covering = tuple(grant for grant in found if grant is not None)
    return tuple(dict.fromkeys(covering)) if len(covering) == len(parts) else ()


def _read(rule: str) -> tuple[tuple[str, ...], bool]:
    """Return a rule's words, none where it can match nothing, and whether more words may follow."""
    text = rule.strip(" ")
    parts = segments(text.removesuffix("*"))
    return (parts[0] if parts and len(parts) == 1 else ()), text.endswith("*")
