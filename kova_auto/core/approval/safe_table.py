"""The shape of the safe list: how a command's options are written down, and how a word is looked up among them.

A table's `options` is text, one piece for each option, apart by blanks:

    -q,--quiet          two spellings of an option without a value
    -[lwc]              -l, -w and -c
    -n,--lines=SIZE     with a value: joined to it, or the next word
    --color?=NAME       with a value that may be left out, so it is never the next word
    --merged~=ANY       with a value in the next word, unless there is none
    --arg=ANY+ANY       with two words of value

What stands behind `=` names a kind of `safe_kinds`. Text is read when a command is first asked about: most never are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import cache
from typing import NamedTuple

from kova_auto.core.approval.safe_kinds import Kind, kind

_PIECE = re.compile(r"(?P<names>[^=?~]+)(?P<how>[?~]?)(?:=(?P<kinds>[A-Z_+]+))?")
_LETTERS = re.compile(r"-\[(\w+)\]")
_DIGITS = re.compile(r"-[0-9]{1,9}")


class Style(Enum):
    """Say how a program reads the words that begin with one dash; `--name=value` is the same for all."""

    GNU = "gnu"  # -ab is -a -b, -n5 is -n 5
    GIT = "git"  # -n5 is -n 5; nothing is -a -b
    FLAGS = "flags"  # -ab is -a -b; a value is always the next word
    WORDS = "words"  # -name is one option; a value is always the next word
    GO = "go"  # as WORDS, and -name=value


class Table(NamedTuple):
    """Say under which words a command only reads.

    Attributes:
        options: The options, as this module's docstring says.
        operands: The kind that every other word must be.
        most: How many operands there may be.
        program: The kind of the first operand, where the program at hand would run it.
        must: Options without which the command is not listed: one of several, `+` between those that go together.
        lists: Options one of which must be there before there may be any operand.
        digits: A number alone is an option, as `-5`.
        ends: Behind `--` nothing is taken for an option.
        settings: It does what the settings of the directory it runs in say.
        network: It may ask a machine elsewhere, where it can reach one.
    """

    options: str = ""
    operands: str = "ANY"
    most: int | None = None
    program: str = ""
    must: str = ""
    lists: str = ""
    style: Style = Style.GNU
    digits: bool = False
    ends: bool = True
    settings: bool = False
    network: bool = False


class Option(NamedTuple):
    """Hold one option.

    Attributes:
        kinds: What its words of value must be; empty where it takes none.
        waits: They may be the next words.
        lax: They may be missing at the end of the command.
    """

    kinds: tuple[Kind, ...] = ()
    waits: bool = True
    lax: bool = False


class Found(NamedTuple):
    """Hold what a word was found to be: the options in it, and what the next words must be."""

    names: tuple[str, ...] = ()
    wanted: tuple[Kind, ...] = ()
    lax: bool = False


class Reader(NamedTuple):
    """Hold a table that was read."""

    table: Table
    options: Mapping[str, Option]
    operands: Kind
    program: Kind | None
    must: tuple[frozenset[str], ...]
    lists: frozenset[str]

    def may_be_operand(self, *, behind_operands: bool, behind_end: bool) -> bool:
        """Say whether a listed option could be taken for one operand too many, or for one that changes another's part.

        Some programs take nothing for an option behind their first operand (`xxd a -p` writes a file `-p`), and most
        do so behind `--`.
        """
        counts = self.table.most is not None
        return (counts and behind_operands) or (
            behind_end and (counts or bool(self.program or self.must or self.lists))
        )

    def find(self, word: str) -> Found | None:
        """Return what a word that begins with a dash is, or None where any of it is not listed."""
        if option := self.options.get(word):
            return Found((word,), option.kinds if option.waits else (), option.lax)
        if self.table.digits and _DIGITS.fullmatch(word):
            return Found()
        if word.startswith("--") or self.table.style is Style.GO:
            name, sign, text = word.partition("=")
            return Found((name,)) if sign and self._takes(name, text) else None
        return self._short(word)

    def _takes(self, name: str, text: str) -> bool:
        option = self.options.get(name)
        return option is not None and len(option.kinds) == 1 and bool(option.kinds[0].fullmatch(text))

    def _short(self, word: str) -> Found | None:
        """Look at single letters: flags that share a dash, and the value of the last one."""
        names: list[str] = []
        for at in range(1, len(word)):
            name, rest = f"-{word[at]}", word[at + 1 :]
            option = self.options.get(name)
            if option is None or (at > 1 and self.table.style not in (Style.GNU, Style.FLAGS)):
                return None
            names.append(name)
            if option.kinds and rest:
                joins = self.table.style in (Style.GNU, Style.GIT)
                return Found(tuple(names)) if joins and self._takes(name, rest) else None
            if option.kinds:
                return Found(tuple(names), option.kinds if option.waits else (), option.lax)
        return Found(tuple(names)) if names else None


@cache
def reader(table: Table) -> Reader:
    """Return a table as it is looked up in; it is read once."""
    return Reader(
        table,
        options=dict(option for piece in table.options.split() for option in _options(piece)),
        operands=kind(table.operands),
        program=kind(table.program) if table.program else None,
        must=tuple(frozenset(names.split("+")) for names in table.must.split()),
        lists=frozenset(table.lists.split()),
    )


def _options(piece: str) -> Iterator[tuple[str, Option]]:
    found = _PIECE.fullmatch(piece)
    if found is None:
        message = f"expected -x,--name=KIND in a table of the safe list, found {piece!r}"
        raise ValueError(message)
    kinds = tuple(kind(name) for name in (found["kinds"] or "").split("+") if name)
    option = Option(kinds, waits=found["how"] != "?", lax=found["how"] == "~")
    for name in found["names"].split(","):
        letters = _LETTERS.fullmatch(name)
        yield from ((f"-{letter}", option) for letter in letters[1]) if letters else ((name, option),)
