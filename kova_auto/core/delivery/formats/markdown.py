"""Read a model's Markdown into styled spans, which each format writes in its own markup.

Nothing of the text's own markup survives: what is not a style known here is plain text. A link's target is kept only
where it is http(s) or mailto, and never inside another link.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import zip_longest
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token

LONGEST = 40_000
_MOST_CELLS = 6000
_SCHEMES = frozenset({"http", "https", "mailto"})
_URL_LIKE = re.compile(r"(?:https?://)?(?P<host>[a-z0-9-]+(?:\.[a-z0-9-]+)+)(?:[/:?#]\S*)?", re.IGNORECASE)


@dataclass(frozen=True)
class Span:
    """Hold a stretch of text in one style."""

    text: str
    bold: bool = False
    italic: bool = False
    strike: bool = False
    code: bool = False
    href: str = ""


@dataclass(frozen=True)
class Paragraph:
    """Hold lines that belong together.

    Attributes:
        lead: What stands before the first line: indentation and a bullet or number.
        quoted: It belongs to a quotation.
        tight: It follows the one before it without an empty line.
    """

    spans: tuple[Span, ...]
    lead: str = ""
    quoted: bool = False
    tight: bool = False


@dataclass(frozen=True)
class Preformatted:
    """Hold text whose every character counts: code, or a table."""

    text: str


Block = Paragraph | Preformatted


def parse(markdown: str) -> list[Block]:
    """Return the blocks of a Markdown text.

    The time grows faster than the text. So what is longer than `LONGEST` is kept as it stands, and so are tables that
    the parser would fill up with very many empty cells.
    """
    if len(markdown) > LONGEST:
        return [Preformatted(markdown)]
    reader = _Reader()
    for token in _parser(tables=_cells(markdown) <= _MOST_CELLS).parse(markdown):
        reader.read(token)
    return reader.blocks


@cache
def _parser(*, tables: bool) -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", *(["table"] if tables else [])])


def _cells(markdown: str) -> int:
    """Return how many cells a table could have, if all lines were its own."""
    lines = markdown.split("\n")
    rules = (line for line in lines if "|" in line and "-" in line and not line.strip("|-: \t>"))
    return len(lines) * max((line.count("|") + 1 for line in rules), default=0)


@dataclass
class _Reader:
    """Fold the parser's flat list of tokens into blocks."""

    blocks: list[Block] = field(default_factory=list)
    lists: list[int | None] = field(default_factory=list)  # the next number of each open list, None for bullets
    lead: str = ""
    quotes: int = 0
    tight: bool = False
    heading: bool = False
    rows: list[list[str]] | None = None

    def read(self, token: Token) -> None:
        match token.type:
            case "paragraph_open":
                self.tight = token.hidden
            case "heading_open" | "heading_close":
                self.heading, self.tight = token.type == "heading_open", False
            case "blockquote_open" | "blockquote_close":
                self.quotes += token.nesting
            case "fence" | "code_block":
                self.blocks.append(Preformatted(token.content.rstrip("\n")))
            case "hr":
                self._add((Span("———"),))
            case "inline":
                self._inline(token)
            case _:
                self._list(token)
                self._table(token.type)

    def _list(self, token: Token) -> None:
        match token.type:
            case "bullet_list_open":
                self.lists.append(None)
            case "ordered_list_open":
                self.lists.append(int(token.attrs.get("start", 1)))
            case "bullet_list_close" | "ordered_list_close":
                self.lists.pop()
                self.lead = "    " * len(self.lists)
            case "list_item_open":
                self.lead = "    " * (len(self.lists) - 1) + self._bullet()
            case _:
                pass

    def _bullet(self) -> str:
        number = self.lists[-1]
        if number is None:
            return "• "
        self.lists[-1] = number + 1
        return f"{number}. "

    def _table(self, event: str) -> None:
        if event == "table_open":
            self.rows = []
        elif event == "tr_open" and self.rows is not None:
            self.rows.append([])
        elif event == "table_close" and self.rows is not None:
            self.blocks.append(Preformatted(_aligned(self.rows)))
            self.rows = None

    def _inline(self, token: Token) -> None:
        spans = tuple(_Styler().spans(token.children or ()))
        if self.rows is not None:
            self.rows[-1].append("".join(span.text for span in spans).replace("\n", " "))
        else:
            self._add(tuple(replace(span, bold=True) for span in spans) if self.heading else spans)

    def _add(self, spans: tuple[Span, ...]) -> None:
        self.blocks.append(Paragraph(spans, self.lead, self.quotes > 0, self.tight))
        self.lead = "    " * len(self.lists)


@dataclass
class _Styler:
    """Fold inline tokens into spans."""

    depth: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("strong", "em", "s", "link"), 0))
    href: str = ""
    label: str = ""

    def spans(self, tokens: Sequence[Token]) -> Iterator[Span]:
        for token in tokens:
            name = token.type.removesuffix("_open").removesuffix("_close")
            if name in self.depth:
                self.depth[name] += token.nesting
                if name == "link":
                    yield from self._link(token)
            elif text := _TEXTS.get(token.type, token.content):
                self.label += text
                yield self._span(text, code=token.type == "code_inline")
            elif token.type == "image":
                yield self._image(token)

    def _span(self, text: str, *, code: bool = False) -> Span:
        bold, italic, strike = (self.depth[name] > 0 for name in ("strong", "em", "s"))
        return Span(text, bold, italic, strike, code, self.href)

    def _link(self, token: Token) -> Iterator[Span]:
        # An address in angle brackets inside a label is a link of its own to the parser: the outer one counts.
        if token.nesting > 0 and self.depth["link"] == 1:
            self.href, self.label = _safe(str(token.attrs.get("href", ""))), ""
        elif token.nesting < 0 and self.depth["link"] == 0:
            host, self.href = urlsplit(self.href).hostname or "", ""
            shown = _URL_LIKE.fullmatch(self.label.strip())
            if host and shown and shown["host"].lower() != host:
                yield self._span(f" ({host})")

    def _image(self, token: Token) -> Span:
        href = self.href or _safe(str(token.attrs.get("src", "")))
        return replace(self._span(f"[image: {token.content or 'without text'}]"), href=href)


_WIDEST_CELL = 40
_TEXTS = {"softbreak": "\n", "hardbreak": "\n", "image": ""}


def _safe(href: str) -> str:
    try:
        parts = urlsplit(href)
    except ValueError:
        return ""
    return href if parts.scheme in _SCHEMES and "@" not in parts.netloc else ""


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    # One wide cell would fill a column of many with spaces.
    widths = [min(max(map(len, column)), _WIDEST_CELL) for column in zip_longest(*rows, fillvalue="")]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip() for row in rows]
    rule = "  ".join("-" * width for width in widths)
    return "\n".join([*lines[:1], rule, *lines[1:]])
