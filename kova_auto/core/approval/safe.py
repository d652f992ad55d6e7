"""Know commands that only read, whatever their arguments: an allow-list of options for each, as data.

Every word that starts with a dash must be a listed option, spelled out in full, before `--` and behind it; so a program
that takes a word for another thing than we do still meets nothing but listed options. An option's value never starts
with a dash, for the same reason.

Source: reference on shells, section 6.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from kova_auto.core.approval.safe_commands import COMMANDS, Kind, Reader
from kova_auto.core.approval.words import segments, value

_LONGEST = max(len(name) for name in COMMANDS)
_COUNT = re.compile(r"-\d{1,9}")
# The kernel's own files tell of other processes and their environment, or never end.
_KERNEL = frozenset(("proc", "dev", "sys"))
_AWAY = re.compile(r"(^|[=:,]|^-[A-Za-z])/|(^|[/=:,])\.\.(/|$)")


def read_only(command: str) -> str | None:
    """Return the name of the listed commands that a command consists of, or None where any part is not listed.

    A listed command may still read any file that its confinement shows it.
    """
    parts = segments(command)
    names = [_listed(words) for words in parts] if parts else []
    found = [name for name in names if name is not None]
    return ", ".join(dict.fromkeys(found)) if found and len(found) == len(names) else None


def stays_below(command: str) -> bool:
    """Say whether no word of a command names a place outside the directory it runs in, as far as its text can tell."""
    parts = segments(command)
    return parts is not None and not any(_AWAY.search(value(word)) for words in parts for word in words)


def _listed(words: tuple[str, ...]) -> str | None:
    """Return the name of the most specific listed command that these words are; its words are bare as typed."""
    name = next((words[:size] for size in range(_LONGEST, 0, -1) if words[:size] in COMMANDS), None)
    if name is None:
        return None
    rest = tuple(value(word) for word in words[len(name) :])
    return " ".join(name) if _fits(COMMANDS[name], rest) and not any(map(_names_kernel, rest)) else None


def _fits(reader: Reader, words: Iterable[str]) -> bool:
    operands, wanted = 0, None
    for word in words:
        if wanted is not None:
            if word.startswith("-") or not wanted.fullmatch(word):
                return False
            wanted = None
        elif word.startswith("-") and word not in ("-", "--"):
            known, wanted = _option(reader, word)
            if not known:
                return False
        elif word != "--":
            operands += 1
            if not reader.operands.fullmatch(word):
                return False
    return wanted is None and (reader.most is None or operands <= reader.most)


def _option(reader: Reader, word: str) -> tuple[bool, Kind | None]:
    """Say whether an option is listed, and what the next word must be if it takes one."""
    if word in reader.flags or word in reader.joined or (reader.counts and _COUNT.fullmatch(word)):
        return True, None
    if word in reader.values:
        return True, reader.values[word]
    if not word.startswith("--"):
        return _short(reader, word)
    name, _, text = word.partition("=")
    kind = reader.values.get(name) or reader.joined.get(name)
    return bool(kind and "=" in word and kind.fullmatch(text)), None


def _short(reader: Reader, word: str) -> tuple[bool, Kind | None]:
    for at in range(1, len(word) if reader.bundles else 2):
        option, rest = f"-{word[at]}", word[at + 1 :]
        if option in reader.values:
            kind = reader.values[option]
            return (True, kind) if not rest else (bool(kind.fullmatch(rest)), None)
        if option in reader.joined:
            return bool(reader.joined[option].fullmatch(rest)), None
        if option not in reader.flags:
            return False, None
    return reader.bundles, None


def _names_kernel(word: str) -> bool:
    steps = re.split(r"[/=:,]", word)
    return bool(_AWAY.search(word)) and not _KERNEL.isdisjoint(steps)
