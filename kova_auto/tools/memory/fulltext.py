"""Searches notes for words, by SQLite's FTS5: an index is made of them for each search, so that it is always true.

A note is searched by its paragraphs. Words are told apart as Unicode tells them, without regard to case and accents;
a word of the query also finds longer ones that begin with it. Chinese, Japanese and Korean, which write no blanks
between words, are found by any row of their characters.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Final

from kova_auto.core.context.memory import Note, in_order
from kova_auto.core.errors import ToolFailedError

MAX_TERMS: Final = 12
MAX_LINE: Final = 240
MAX_INDEXED: Final = 8 * 1024 * 1024
"""Characters that are searched at most: whole notes, those that a run is shown first."""

_PASSAGE_LINES: Final = 20
_BEFORE: Final = 60  # characters shown before the first word found in a long line
_OPEN, _CLOSE = "\x02", "\x03"
_UNSPACED: Final = re.compile(r"([\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff])")
_MARKS: Final = re.compile(f"[{_OPEN}{_CLOSE}\0]")

Connect = Callable[[], sqlite3.Connection]


@dataclass(frozen=True, slots=True)
class Hit:
    """Hold one line that was found; `number` counts from 1."""

    note: Note
    number: int
    line: str


@dataclass(frozen=True, slots=True)
class Hits:
    """Hold what was found, the best first, and how many notes there was no room to search."""

    found: tuple[Hit, ...]
    unsearched: int = 0


@dataclass(frozen=True, slots=True)
class _Passage:
    note: Note
    first: int
    lines: tuple[str, ...]


def terms_of(query: str) -> tuple[str, ...]:
    """Return the words of a query, each once, at most `MAX_TERMS`: what holds neither letter nor digit is none."""
    whole = _MARKS.sub(" ", query).encode(errors="ignore").decode()  # half a character is in no note
    words = dict.fromkeys(word for word in whole.split() if any(char.isalnum() for char in word))
    return tuple(words)[:MAX_TERMS]


def search(notes: Sequence[Note], query: str, limit: int, *, connect: Connect | None = None) -> Hits:
    """Return the lines of notes that have something of a query, the best first: at most one of each paragraph.

    Args:
        notes: In whatever order.
        query: Words; a line need not have all of them.
        limit: How many lines at most.
        connect: Opens a database of its own; None takes one in memory.

    Raises:
        ToolFailedError: The query has no word, or this Python's SQLite has no FTS5.
    """
    terms = terms_of(query)
    if not terms:
        message = f"there is no word in the query {query!r}; wanted words with letters or digits"
        raise ToolFailedError(message)
    searched = list(_searched(in_order(notes)))
    passages = [passage for note in searched for passage in _passages(note)]
    with closing((connect or _in_memory)()) as database:
        found = _asked(database, passages, " OR ".join(map(_quoted, terms)), limit)
    return Hits(tuple(_hit(passages[row - 1], marked, terms) for row, marked in found), len(notes) - len(searched))


def _in_memory() -> sqlite3.Connection:
    return sqlite3.connect(":memory:")


def _searched(notes: Sequence[Note]) -> Iterator[Note]:
    """Yield as many notes as may be searched; of the daily ones the newest first."""
    left = MAX_INDEXED
    daily = sorted((note for note in notes if "/" in note.name), key=lambda note: note.name, reverse=True)
    for note in (*(note for note in notes if "/" not in note.name), *daily):
        if len(note.text) <= left:
            left -= len(note.text)
            yield note


def _passages(note: Note) -> Iterator[_Passage]:
    """Yield a note's paragraphs, long ones in pieces."""
    held: list[str] = []
    first = 1
    for number, line in enumerate(_MARKS.sub("", note.text).splitlines(), 1):
        if held and (not line.strip() or len(held) == _PASSAGE_LINES):
            yield _Passage(note, first, tuple(held))
            held = []
        if line.strip():
            first = first if held else number
            held.append(line)
    if held:
        yield _Passage(note, first, tuple(held))


def _asked(
    database: sqlite3.Connection, passages: Sequence[_Passage], expression: str, limit: int
) -> list[tuple[int, str]]:
    """Return the numbers of the passages that fit, from 1, each with its words marked."""
    try:
        database.execute("CREATE VIRTUAL TABLE passages USING fts5(text, tokenize = 'unicode61 remove_diacritics 2')")
    except sqlite3.OperationalError as exc:
        message = (
            f"notes cannot be searched: SQLite {sqlite3.sqlite_version} of this Python was built without FTS5 ({exc}); "
            "run kova-auto with a Python whose SQLite has it, as python.org's and most distributions' do; reading "
            "and listing notes works without"
        )
        raise ToolFailedError(message) from exc
    rows = ((number, _spaced("\n".join(passage.lines))) for number, passage in enumerate(passages, 1))
    database.executemany("INSERT INTO passages(rowid, text) VALUES (?, ?)", rows)
    asked = (
        "SELECT rowid, highlight(passages, 0, ?, ?) FROM passages WHERE passages MATCH ? ORDER BY rank, rowid LIMIT ?"
    )
    return [(number, marked) for number, marked in database.execute(asked, (_OPEN, _CLOSE, expression, limit))]


def _quoted(term: str) -> str:
    """Return a term as FTS5 takes it: a string, whatever is in it, that longer words may begin with."""
    return '"{}"*'.format(_spaced(term).replace('"', '""'))


def _spaced(text: str) -> str:
    """Return a text in which each character of a script without blanks is a word."""
    return _UNSPACED.sub(r" \1 ", text)


def _hit(passage: _Passage, marked: str, terms: Sequence[str]) -> Hit:
    counts = [line.count(_OPEN) for line in marked.split("\n")]
    at = counts.index(max(counts))
    return Hit(passage.note, passage.first + at, _shown(passage.lines[at].strip(), terms))


def _shown(line: str, terms: Sequence[str]) -> str:
    """Return a line of at most `MAX_LINE` characters, with the first word that was found in it."""
    if len(line) <= MAX_LINE:
        return line
    folded = line.casefold()
    places = [at for term in terms if (at := folded.find(term.casefold())) >= 0]
    start = max(0, min(min(places, default=0) - _BEFORE, len(line) - MAX_LINE))
    lead, tail = ("…" if start else ""), ("…" if start + MAX_LINE < len(line) else "")
    return f"{lead}{line[start + len(lead) : start + MAX_LINE - len(tail)]}{tail}"
