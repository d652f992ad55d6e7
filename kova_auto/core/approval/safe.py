"""Know commands that only read, whatever their arguments: an allow-list of options for each, as data.

Every simple command of a command line must be listed, with listed options only, and every word must be exactly what the
program is handed:

- A word that starts with a dash must be a listed option, spelled out in full, before `--` and behind it; so a program
  that takes a word for another thing than we do still meets nothing but listed options. An option's value starts with
  no dash either, but for a number's sign.
- A variable, a tilde or a brace could become anything: not listed. A wildcard stands for names of files, one of which
  could be an option: it passes only as an operand, behind `--` or where the word itself begins with what no option
  begins with (`./*`, `src/*.py`, not `*`).
- Behind a `cd`, a program that does what its directory's settings say (git, npm) is not listed.

Source: reference on shells, section 6.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import dropwhile
from typing import NamedTuple

from kova_auto.core.approval.safe_commands import COMMANDS, Commands
from kova_auto.core.approval.safe_git import GLOBAL
from kova_auto.core.approval.safe_kinds import Kind
from kova_auto.core.approval.safe_table import Reader, reader
from kova_auto.core.approval.safe_words import Place, is_below, names_files, names_kernel
from kova_auto.core.approval.shell.lexer import lex
from kova_auto.core.approval.shell.rule import Rule, matches, parse_rule
from kova_auto.core.approval.shell.word import Lexed, Segment, Word

_LONGEST = max(len(name) for name in COMMANDS)
_NEGATIVE = re.compile(r"-[0-9][0-9.]*[A-Za-z]?", re.ASCII)


class Known(NamedTuple):
    """Hold a simple command whose name is listed.

    Attributes:
        arguments: What stands behind its name.
        reads: The files that are redirected into it.
    """

    name: str
    reader: Reader
    arguments: tuple[Word, ...]
    reads: tuple[Word, ...]


def read_only(command: str, commands: Commands = COMMANDS) -> str | None:
    """Return the names of the listed commands that a command consists of, or None where any part is not listed.

    A listed command may still read any file that its confinement shows it.
    """
    names = listed(command, commands)
    known = [name for name in dict.fromkeys(names) if name is not None]
    return ", ".join(known) if known and None not in names else None


def listed(command: str, commands: Commands = COMMANDS) -> tuple[str | None, ...]:
    """Return the name by which each simple command is listed where it stands, in order, None for one that is not.

    Empty where the command is not read.
    """
    names: list[str | None] = []
    place = Place.HERE
    for segment in _segments(command):
        known = _known(segment, commands)
        names.append(known.name if known and _only_reads(known, place) else None)
        place = _behind(segment, place)
    return tuple(names)


def hardened(rules: Iterable[str], command: str) -> bool:
    """Say whether a command only reads, and does so by its construction as far as the rules at hand reach.

    That is `read_only`, but for programs that are told by a word what to do (`sed`, `jq`): where a rule covers such a
    command and ends before that word, the rule leaves the program to whoever writes the next command.

    Args:
        rules: The texts of the rules; those that can match nothing are passed over.
        command: The whole command line.
    """
    if read_only(command) is None:
        return False
    parsed = [rule for rule in map(parse_rule, rules) if isinstance(rule, Rule)]
    return not any(_leaves_open(rule, segment, command) for segment in _segments(command) for rule in parsed)


def stays_below(command: str) -> bool:
    """Say whether a command reaches nothing outside the directory it runs in, as far as its text can tell.

    No word names such a place, and no listed command is one that asks other machines.
    """
    segments = _segments(command)
    return bool(segments) and not any(map(_reaches_out, segments))


def _segments(command: str) -> tuple[Segment, ...]:
    reading = lex(command)
    return reading.segments if isinstance(reading, Lexed) else ()


def _known(segment: Segment, commands: Commands) -> Known | None:
    """Return the most specific listed command that a segment is, its name's words bare as typed."""
    words = segment.words
    if words[0].raw == "git":
        words = (words[0], *dropwhile(lambda word: word.raw in GLOBAL, words[1:]))
    names = [word.raw if word.plain else "" for word in words[:_LONGEST]]
    for size in range(len(names), 0, -1):
        if table := commands.get(tuple(names[:size])):
            return Known(" ".join(names[:size]), reader(table), words[size:], segment.reads)
    return None


def _behind(segment: Segment, place: Place) -> Place:
    """Return where the commands behind this one run; a `cd` in parentheses counts as if it stood without."""
    if segment.words[0].raw != "cd":
        return place
    targets = [word for word in segment.words[1:] if not word.value.startswith("-")]
    return Place.BELOW if place is not Place.AWAY and targets and all(map(is_below, targets)) else Place.AWAY


def _only_reads(known: Known, place: Place) -> bool:
    if known.reader.table.settings and place is not Place.HERE:
        return False
    words = (*known.arguments, *known.reads)
    if not all(word.literal for word in known.reads) or any(names_kernel(word.value, place) for word in words):
        return False
    scanned = _scanned(known.reader, known.arguments)
    return scanned is not None and _fits(scanned, known.reader, place)


class _Scanned(NamedTuple):
    """Hold the arguments of a command, sorted: the options that are there, and its operands.

    Attributes:
        behind: Those of the operands that stand behind `--`, and nowhere before it.
    """

    options: set[str]
    operands: list[Word]
    behind: set[Word]


def _scanned(known: Reader, words: Iterable[Word]) -> _Scanned | None:
    """Return a command's arguments sorted, or None where an option or a value is not listed."""
    scanned, lax, ended = _Scanned(set(), [], set()), False, False
    wanted: tuple[Kind, ...] = ()
    for word in words:
        if wanted:
            if not _is_value(word, wanted[0]):
                return None
            wanted = wanted[1:]
        elif word.value == "--":
            ended = True
        elif word.value.startswith("-") and word.value != "-":
            found = known.find(word.value) if word.literal else None
            if found is None or known.may_be_operand(behind_operands=bool(scanned.operands), behind_end=ended):
                return None
            scanned.options.update(found.names)
            wanted, lax = found.wanted, found.lax
        else:
            if ended and word not in scanned.operands:
                scanned.behind.add(word)
            scanned.operands.append(word)
    return None if wanted and not lax else scanned


def _is_value(word: Word, kind: Kind) -> bool:
    is_option = word.value.startswith("-") and not _NEGATIVE.fullmatch(word.value)
    return word.literal and not is_option and bool(kind.fullmatch(word.value))


def _fits(scanned: _Scanned, known: Reader, place: Place) -> bool:
    """Say whether the options that must be there are, and the operands are what they may be."""
    operands, most = scanned.operands, known.table.most
    if known.must and not any(names <= scanned.options for names in known.must):
        return False
    if known.lists and operands and known.lists.isdisjoint(scanned.options):
        return False
    if most is not None and len(operands) > most:
        return False
    if known.program and operands and not _is_value(operands[0], known.program):
        return False
    others = operands[1:] if known.program else operands
    return all(_is_operand(word, known, place, behind=word in scanned.behind) for word in others)


def _is_operand(word: Word, known: Reader, place: Place, *, behind: bool) -> bool:
    if not known.operands.fullmatch(word.value):
        return False
    may_be_many = known.table.most is None and place is not Place.AWAY
    return word.literal or (may_be_many and names_files(word, behind=behind and known.table.ends))


def _leaves_open(rule: Rule, segment: Segment, command: str) -> bool:
    known = _known(segment, COMMANDS)
    if known is None or not known.reader.program or not rule.is_prefix or not matches(rule, segment, command):
        return False
    scanned = _scanned(known.reader, known.arguments)
    return scanned is not None and not set(scanned.operands[:1]) <= set(rule.words)


def _reaches_out(segment: Segment) -> bool:
    known = _known(segment, COMMANDS)
    if known and (known.reader.table.network or (known.name == "cd" and not known.arguments)):
        return True
    return not all(map(is_below, (*segment.words, *segment.reads)))
