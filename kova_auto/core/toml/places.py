"""Find the line of every key in a TOML text.

The text is known to be valid: `tomllib` has read it. Values are stepped over, not read.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterator

Key = tuple[str | int, ...]
"""The way to a value: names of tables and keys, positions in arrays (from 0)."""

_BLANK = re.compile(r"[ \t]*")
_GAP = re.compile(r"(?:[\s,]|#[^\n]*)*")  # between statements, and between the elements of an array
_NAME = re.compile(r"""[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'""")
_STRING = re.compile(
    r'''"""(?:[^\\]|\\.)*?""""{0,2}|\'\'\'.*?\'\'\'\'{0,2}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*\'''', re.DOTALL
)
_PLAIN = re.compile(r"[^,\]}#\n]*")


def lines_of(text: str) -> dict[Key, int]:
    """Return the 1-based line at which each table, key and array element of a valid text begins."""
    scanner = _Scanner(text)
    scanner.document()
    return scanner.lines


def spell(key: Key) -> str:
    """Write a key as people do, as `notify[0].when`."""
    text = ""
    for part in key:
        name = f"[{part}]" if isinstance(part, int) else f".{part}" if _NAME.fullmatch(part) else f'."{part}"'
        text += name
    return text.removeprefix(".")


class _Scanner:
    """Walk once over the text, from statement to statement."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.lines: dict[Key, int] = {}
        self.starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self.tables: dict[Key, int] = {}  # of each array of tables, how many there were

    def document(self) -> None:
        """Note every statement."""
        table: Key = ()
        self.skip(_GAP)
        while self.at < len(self.text):
            if self.text.startswith("[", self.at):
                table = self.header()
            else:
                self.pair(table)
            self.skip(_GAP)

    def header(self) -> Key:
        """Step over `[table]` or `[[table]]`; return the key that its statements belong to."""
        start, is_element = self.at, self.text.startswith("[[", self.at)
        self.at += 2 if is_element else 1
        *parents, last = self.names()
        self.at = self.text.index("]", self.at) + (2 if is_element else 1)
        table: Key = ()
        for name in parents:
            table = self.entered((*table, name), start)
        table = (*table, last)
        if is_element:
            self.note(table, start)
            count = self.tables.get(table, 0)
            self.tables[table] = count + 1
            table = (*table, count)
        self.note(table, start)
        return table

    def entered(self, table: Key, start: int) -> Key:
        """Return the key inside `table`; of an array of tables, that is its newest element."""
        self.note(table, start)
        return (*table, self.tables[table] - 1) if table in self.tables else table

    def pair(self, table: Key) -> None:
        """Step over `dotted.key = value`."""
        start, key = self.at, table
        for name in self.names():
            key = (*key, name)
            self.note(key, start)
        self.at = self.text.index("=", self.at) + 1
        self.value(key)

    def names(self) -> list[str]:
        """Step over a dotted key."""
        return list(self._names())

    def _names(self) -> Iterator[str]:
        while True:
            self.skip(_BLANK)
            name = self.skip(_NAME)
            yield _unquoted(name) if name[0] in "\"'" else name
            self.skip(_BLANK)
            if not self.text.startswith(".", self.at):
                return
            self.at += 1

    def value(self, key: Key) -> None:
        """Step over a value, and note what it holds."""
        self.skip(_BLANK)
        match self.text[self.at]:
            case "[":
                self.array(key)
            case "{":
                self.inline_table(key)
            case '"' | "'":
                self.skip(_STRING)
            case _:
                self.skip(_PLAIN)

    def array(self, key: Key) -> None:
        """Step over `[a, b]`."""
        self.open()
        index = 0
        while not self.text.startswith("]", self.at):
            self.note((*key, index), self.at)
            self.value((*key, index))
            self.skip(_GAP)
            index += 1
        self.at += 1

    def inline_table(self, key: Key) -> None:
        """Step over `{ a = 1, b = 2 }`."""
        self.open()
        while not self.text.startswith("}", self.at):
            self.pair(key)
            self.skip(_GAP)
        self.at += 1

    def open(self) -> None:
        """Step over an opening bracket."""
        self.at += 1
        self.skip(_GAP)

    def skip(self, pattern: re.Pattern[str]) -> str:
        """Step over what the pattern matches here, and return it."""
        found = pattern.match(self.text, self.at)
        text = found[0] if found else ""
        self.at += len(text)
        return text

    def note(self, key: Key, start: int) -> None:
        """Keep the line at which a key was first seen."""
        self.lines.setdefault(key, bisect_right(self.starts, start))


def _unquoted(name: str) -> str:
    (value,) = tomllib.loads(f"{name} = 0")
    return value
