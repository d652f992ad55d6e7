"""What one word of a command may name, as far as its text can tell: files below, places elsewhere, the kernel's own."""

from __future__ import annotations

import re
from enum import Enum

from kova_auto.core.approval.shell.word import Word

# The kernel's own files tell of other processes and their environment, or never end.
_KERNEL = frozenset(("proc", "dev", "sys"))
_NOTHING = "/dev/null"
_STEPS = re.compile(r"[/=:,]")
# Also behind the letters of an option, as `-f../x`.
_AWAY = re.compile(r"(?:^|[=:,]|^-[A-Za-z]+)/|(?:^|[/=:,]|^-[A-Za-z]+)\.\.(?:/|$)")
# Bare, and what a wildcard stands in lies below a directory that is named.
_NAMED = r"/[A-Za-z0-9_][\w.-]*/"
_CHARS = r"[\w@%+=:,./^*?\[\]-]*"
_NO_OPTION = re.compile(rf"(?:{_NAMED}|\./|[A-Za-z0-9_]){_CHARS}", re.ASCII)
_BEHIND = re.compile(rf"(?:{_NAMED}|(?!/)){_CHARS}", re.ASCII)
# `.*` stands for `..` too; a root behind a sign is none that is named.
_STRAYS = re.compile(r"(?:^|/)\.[^/]*[*?\[]|\.\.|[=:,]/")


class Place(Enum):
    """Say where a simple command runs."""

    HERE = "here"  # where the whole command was started
    BELOW = "below"  # behind a `cd` to some directory of it
    AWAY = "away"  # behind a `cd` to elsewhere


def leads_away(text: str) -> bool:
    """Say whether a text names a place outside the directory where it is used."""
    return text != _NOTHING and bool(_AWAY.search(text))


def names_kernel(text: str, place: Place) -> bool:
    """Say whether a text names a file of the kernel's; nothing is asked of `/dev/null`."""
    if text == _NOTHING or (place is not Place.AWAY and not _AWAY.search(text)):
        return False
    return not _KERNEL.isdisjoint(_STEPS.split(text))


def names_files(word: Word, *, behind: bool) -> bool:
    """Say whether a word's wildcards stand for nothing but names that no program takes for an option.

    Args:
        word: A word that is not literal; variables, tildes and braces are never such names.
        behind: Behind `--`, any name will do.
    """
    return bool((_BEHIND if behind else _NO_OPTION).fullmatch(word.raw)) and not _STRAYS.search(word.raw)


def is_below(word: Word) -> bool:
    """Say whether a word names nothing outside the directory where it is used."""
    if word.literal:
        return not leads_away(word.value)
    return not word.raw.startswith("/") and names_files(word, behind=True)
