"""Say what stands against allowing a command for good: looked up by its name and its subcommand alone."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kova_auto.core.approval.shell.unrememberable import (
    ABBREVIATING,
    EVERYWHERE,
    MULTIPLEXERS,
    NAMES,
    SAYS,
    SCRIPT_SUFFIXES,
    SUBCOMMANDS,
    SYSTEM_PLACES,
    Kind,
)

_NAME = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./+@:-]*|\[|:")
_SUBCOMMAND = re.compile(r"[A-Za-z][A-Za-z0-9_:-]*")
_VERSION = re.compile(r"(?:[-_.]v?)?\d[\d.]*[a-z]?$")
_EXECUTABLE = (".exe", ".com")


@dataclass(frozen=True, slots=True)
class Objection:
    """Say why a rule would allow too much.

    Attributes:
        what: The command, or the command and its subcommand.
    """

    kind: Kind
    what: str

    @property
    def says(self) -> str:
        """Return it as the rest of a sentence behind `because`."""
        return f"{self.what} {SAYS[self.kind]}"


def base_name(word: str) -> str:
    """Return a command's name as the lists know it: lower case, without its directory, version and `.exe`."""
    name = word.casefold().rpartition("/")[2]
    for ending in _EXECUTABLE:
        name = name.removesuffix(ending)
    return name if name in NAMES or name in MULTIPLEXERS else _VERSION.sub("", name) or name


def as_subcommand(word: str | None) -> str | None:
    """Return a second word where it looks like a subcommand; anything else is taken for a value."""
    return word if word and _SUBCOMMAND.fullmatch(word) else None


def objection(name: str, subcommand: str | None) -> Objection | None:
    """Return what stands against a rule of one or two words, or None.

    Args:
        name: The first word as typed.
        subcommand: The rule's second word; None where the rule has one word.
    """
    if not _NAME.fullmatch(name):
        return Objection(Kind.NAME, name)
    base = base_name(name)
    if base in NAMES:
        return Objection(NAMES[base], name)
    if _is_changeable(name, base):
        return Objection(Kind.SCRIPT, name)
    if subcommand is None:
        return Objection(Kind.MULTIPLEXER, name) if base in MULTIPLEXERS else None
    return Objection(Kind.SUBCOMMAND, f"{name} {subcommand}") if _runs_anything(base, subcommand.casefold()) else None


def _is_changeable(name: str, base: str) -> bool:
    lowered = name.casefold()
    if "/" in name and (not name.startswith(SYSTEM_PLACES) or ".." in name.split("/")):
        return True
    return lowered.endswith(SCRIPT_SUFFIXES) or base.endswith(SCRIPT_SUFFIXES)


def _runs_anything(base: str, subcommand: str) -> bool:
    known = SUBCOMMANDS.get(base, frozenset())
    if subcommand in known or subcommand in EVERYWHERE:
        return True
    spared = ABBREVIATING.get(base)
    return (
        spared is not None
        and subcommand not in spared
        and any(one.startswith(subcommand) for one in known | EVERYWHERE)
    )
