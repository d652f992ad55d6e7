"""Write styled spans as Markdown that a receiver reads as they are meant, and by which it can mention nobody.

What a text looks like is ours: each character that could be markup is escaped, and what could call somebody, or be
taken for a tag, is broken by a space of no width. Headings are bold lines, lists have bullets of text and spaces that
no Markdown takes for code: so each piece of a long text looks the same as the whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from kova_auto.core.delivery.formats import packing
from kova_auto.core.delivery.formats.markdown import Block, Preformatted, Span
from kova_auto.core.delivery.limits import Unit

MAX_URL = 2000
_GROUPS = r"(?:all|here|channel|everyone|group|room|team|online|所有人)"
_NAMES = re.compile(rf"@(?={_GROUPS}\b)|(?<![A-Za-z0-9])@(?=[\w\[{{(<])", re.IGNORECASE)
_CALLS = re.compile(rf"@(?={_GROUPS}\b)", re.IGNORECASE)
_TAGS = re.compile(rf"<(?=[@#]|!{_GROUPS}|!subteam|/?(?:at|users|mention|person)\b)", re.IGNORECASE)
_ANY_TAG = re.compile(r"<(?=\S)")
_CHARACTER = re.compile(r"(&#?\w+);")
_ENTITY = re.compile(r"&(?=#?\w+;)")
_FENCE = re.compile("``(?=`)")
_FENCES = re.compile("``(?=`)|~~(?=~)")
_MARKS = frozenset("*_~`")
_SPECIAL = re.compile(r"[\\`*_~\[\]|]")
_INDENT = re.compile(r"^[ \t]+", re.MULTILINE)
_LINE_START = re.compile(r"^(?:(?=[#>+=:-])|(\d{1,9})(?=[.)](?:\s|$)))", re.MULTILINE)
_IN_HOST, _IN_PATH, _LAST = r"[^\s<>\"'`()\[\]|\\@/?#]", r"[^\s<>\"'`()\[\]|\\]", r"(?<![.,:;!?*_~])"
_BARE_URL = re.compile(rf"https?://(?![^\s/?#]*@){_IN_HOST}+{_LAST}(?:[/?#](?:{_IN_PATH}+{_LAST})?)?", re.IGNORECASE)
_IN_URL = {ord(one): f"%{ord(one):02X}" for one in '<>()[]\\|`"^{}* @'}


def hushed(text: str) -> str:
    """Return text in which no name is one that would be called; addresses of mail stay what they are."""
    return _NAMES.sub("@\u200b", text)


@dataclass(frozen=True)
class Dialect:
    """Say what one kind of receiver makes of Markdown.

    Attributes:
        unit: In which it counts.
        bold: Marks; empty where it has none, as for the others.
        code: Whether it has code within a line.
        fences: Whether it has blocks of code; where it has none, each line is code of its own.
        backslash: Whether a backslash makes a mark a character; where it does not, single marks may vanish.
        links: Whether a label can be an address.
        autolinks: Whether an address in angle brackets is one.
        newline: Ends a line inside a paragraph.
    """

    unit: Unit = Unit.CHARACTERS
    bold: str = "**"
    italic: str = "*"
    strike: str = "~~"
    code: bool = True
    fences: bool = True
    backslash: bool = True
    links: bool = True
    autolinks: bool = True
    newline: str = "\n"

    def escape(self, text: str) -> str:
        """Return text that shows as itself inside a line, and calls nobody."""
        safe = _ENTITY.sub("&\u200b", _ANY_TAG.sub("<\u200b", hushed(text)))
        if self.backslash:
            return _SPECIAL.sub(r"\\\g<0>", safe)
        return _FENCES.sub("\\g<0>\u200b", safe).replace("](", "]\u200b(")

    def line(self, text: str) -> str:
        """Return text that shows as itself, as one line or several of their own."""
        return self._as_lines(self.escape(text))

    def shortened(self, text: str, limit: int) -> str:
        """Return what `line` gives, in at most `limit` units."""
        return packing.shortened(text, limit, self.line, self.unit.size)

    def strong(self, text: str) -> str:
        """Return bold text."""
        return self._styled(Span(text, bold=True))

    def command(self, text: str) -> str:
        """Return what somebody is to type, as code where there is any."""
        return self._styled(Span(text, code=True))

    def link(self, label: str, url: str) -> str:
        """Return a link; the address alone where there are no labels."""
        return self._styled(Span(label, href=url))

    def anchor(self, label: str, url: str) -> str:
        """Return a link out of a label that is written already and an address that has no mark in it."""
        return f"[{label}]({url})"

    def pack(self, blocks: Iterable[Block], limit: int) -> list[str]:
        """Return the blocks as texts of at most `limit` units each, as few as their order allows."""
        return packing.pack(blocks, limit, self.write, self.unit.size)

    def write(self, block: Block) -> str:
        """Return one block."""
        if isinstance(block, Preformatted):
            return self._fenced(block.text)
        text = block.lead.replace("    ", "\u2003") + self._as_lines("".join(self._pieces(block.spans)))
        return "\n".join(f"> {line}" for line in text.split("\n")) if block.quoted else text

    def _fenced(self, text: str) -> str:
        safe = _disarmed_code(text)
        if self.fences:
            return f"```\n{safe}\n```"
        return "\n".join(self._code(line) if line.strip() else "" for line in safe.split("\n"))

    def _as_lines(self, text: str) -> str:
        guard = "\\" if self.backslash else "\u200b"
        lines = _LINE_START.sub(lambda found: f"{found[1] or ''}{guard}", _INDENT.sub("", text))
        return lines.replace("\n", self.newline)

    def _pieces(self, spans: Iterable[Span]) -> Iterator[str]:
        before = ""
        for span in packing.runs(_with_addresses(spans)):
            piece = self._styled(span)
            # Two marks side by side would be read as one, and a link as an image.
            if (before[-1:] in _MARKS and piece[:1] in _MARKS) or (before[-1:], piece[:1]) == ("!", "["):
                yield "\u200b"
            yield piece
            before = piece or before

    def _styled(self, span: Span) -> str:
        if span.code and not span.href:
            return self._code(span.text)
        inner = self._linked(span) if span.href else self.escape(span.text)
        for wanted, mark in ((span.strike, self.strike), (span.italic, self.italic), (span.bold, self.bold)):
            inner = packing.marked(inner, mark) if wanted and mark else inner
        return inner

    def _linked(self, span: Span) -> str:
        label, url = " ".join(span.text.split()), _encoded(span.href)
        if span.href.startswith("mailto:"):
            address = span.href.removeprefix("mailto:")
            return self.escape(label if label in {address, span.href} else f"{label} ({address})")
        if len(url) > MAX_URL:
            return self.escape(label)
        if label in {span.href, url}:
            label = url
        if self.autolinks and label == url:
            return f"<{url}>"
        if self.links:
            return self.anchor(self.escape(label) or "link", url)
        return url if label in {url, ""} else f"{self.escape(label)} ({url})"

    def _code(self, text: str) -> str:
        # Three marks in a row would begin a block, to some even inside a line.
        if not self.code or not text.strip() or "``" in text or ("`" in text and not self.backslash):
            return self.escape(text)
        # Where a stray mark stays a mark, what is code to us may be text to the receiver.
        safe = _disarmed_code(text if self.backslash else hushed(text))
        marks = "``" if "`" in safe else "`"
        pad = " " if "`" in {safe[0], safe[-1]} else ""
        return f"{marks}{pad}{safe}{pad}{marks}"


def _disarmed_code(text: str) -> str:
    """Return code that nothing inside can end, and that calls nobody even where it is not taken for code."""
    return _FENCE.sub("``\u200b", _TAGS.sub("<\u200b", _CALLS.sub("@\u200b", text)))


def _encoded(url: str) -> str:
    return _CHARACTER.sub(r"\1%3B", url).translate(_IN_URL)


def _with_addresses(spans: Iterable[Span]) -> Iterator[Span]:
    """Yield the spans with each address in their text as a link of its own, so that nothing in it is escaped."""
    for span in spans:
        if span.code or span.href or "://" not in span.text:
            yield span
            continue
        end = 0
        for found in _BARE_URL.finditer(span.text):
            yield replace(span, text=span.text[end : found.start()])
            yield replace(span, text=found[0], href=found[0])
            end = found.end()
        yield replace(span, text=span.text[end:])
