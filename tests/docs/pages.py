"""Read the pages that users read: their fenced blocks with the mark before each, tables, links and code spans.

A mark is a comment on the line before a fenced block; each block has one:

    <!-- run -->                a command line in bash, or Python; `run: exit 2` where it must end so
    <!-- output -->             what the block before it printed; … stands for anything in a line, or for any lines
    <!-- file: PATH -->         a file that the blocks after it find there, relative to the home directory
    <!-- job -->                a job file;  <!-- part of a job -->  a piece of one
    <!-- settings -->           a settings file, or a piece of one
    <!-- picture -->            nothing to execute
    <!-- recorded: FORMAT -->   what an endpoint of this format is sent; `tests/core/delivery/recorded.py` writes it
    <!-- not run: WHY -->       a command that no test can execute
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
_MARK = re.compile(r"<!-- (?P<kind>[a-z ]+?)(?:: (?P<rest>.+?))? -->\s*")
_PARSER = MarkdownIt("commonmark").enable("table")


@dataclass(frozen=True)
class Block:
    """Hold one fenced block."""

    page: str
    line: int
    language: str
    text: str
    mark: str
    rest: str = ""

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"


@dataclass
class Table:
    """Hold one table under its nearest heading; cells as they are written."""

    heading: str
    rows: list[list[str]] = field(default_factory=list)

    @property
    def body(self) -> list[list[str]]:
        return self.rows[1:]

    @property
    def names(self) -> list[str]:
        """Return the first column, its code marks taken off."""
        return [bare(row[0]) for row in self.body]


def pages() -> list[str]:
    """Return every page, relative to the repository."""
    return ["README.md", "CHANGELOG.md", *sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("docs/*.md"))]


@cache
def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


@cache
def tokens_of(page: str) -> tuple[Token, ...]:
    return tuple(_PARSER.parse(text_of(page)))


def blocks(page: str) -> list[Block]:
    """Return the fenced blocks of a page, in their order."""
    found: list[Block] = []
    before = ""
    for token in tokens_of(page):
        if token.type == "fence":
            mark = _MARK.fullmatch(before)
            kind, rest = (mark["kind"], mark["rest"] or "") if mark else ("", "")
            line = token.map[0] + 1 if token.map else 0
            found.append(Block(page, line, token.info, token.content, kind, rest))
        before = token.content if token.type == "html_block" else ""
    return found


def tables(page: str) -> list[Table]:
    """Return the tables of a page, in their order."""
    found: list[Table] = []
    heading, previous = "", ""
    for token in tokens_of(page):
        match token.type:
            case "table_open":
                found.append(Table(heading))
            case "tr_open":
                found[-1].rows.append([])
            case "inline" if previous in {"th_open", "td_open"}:
                found[-1].rows[-1].append(token.content)
            case "inline" if previous == "heading_open":
                heading = token.content
            case _:
                pass
        previous = token.type
    return found


def table(page: str, heading: str) -> Table:
    """Return the one table under a heading."""
    found = tables_under(page, heading)
    assert len(found) == 1, f"{page}: {len(found)} tables under {heading!r}"
    return found[0]


def tables_under(page: str, heading: str) -> list[Table]:
    """Return the tables under a heading, in their order."""
    return [one for one in tables(page) if one.heading == heading]


def paragraph(page: str, begins: str) -> str:
    """Return the one paragraph of a page that begins so."""
    found = [text for text in text_of(page).split("\n\n") if text.startswith(begins)]
    assert len(found) == 1, f"{page}: {len(found)} paragraphs begin with {begins!r}"
    return found[0].replace("\n", " ")


def headings(page: str) -> list[str]:
    tokens = tokens_of(page)
    return [tokens[index + 1].content for index, token in enumerate(tokens) if token.type == "heading_open"]


def _inline(page: str) -> Iterator[Token]:
    for token in tokens_of(page):
        yield from token.children or ()


def spans(page: str) -> list[str]:
    """Return the code spans of a page."""
    return [token.content for token in _inline(page) if token.type == "code_inline"]


def links(page: str) -> list[str]:
    """Return where the links of a page lead."""
    return [str(token.attrs["href"]) for token in _inline(page) if token.type == "link_open"]


def codes(text: str) -> list[str]:
    """Return the code spans of a piece of text."""
    return re.findall(r"`([^`]+)`", text)


def bare(cell: str) -> str:
    """Return a cell without its code marks."""
    return cell.strip().removeprefix("`").removesuffix("`")
