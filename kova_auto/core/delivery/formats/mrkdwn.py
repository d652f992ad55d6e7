"""Write styled spans in Slack's markup, in pieces of bounded size.

The only `<` that is ever written opens one of our own links, so nothing a model says can mention anybody. A piece is
never cut inside a link, an entity, a code block or a pair of style marks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby

from kova_auto.core.delivery.formats.markdown import Block, Paragraph, Preformatted, Span
from kova_auto.core.delivery.text import border, cut

MAX_URL = 2000
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_IN_URL = str.maketrans({"&": "&amp;", "<": "%3C", ">": "%3E", "|": "%7C", " ": "%20"})
_MENTION = re.compile(r"@(?=(?:here|channel|everyone|group)\b)", re.IGNORECASE)
_FENCE = re.compile("``(?=`)")
_CORE = re.compile(r"(\s*)(.*?)(\s*)", re.DOTALL)


def size(text: str) -> int:
    """Return the length in UTF-16 units: never less than in characters, and one of the two is what Slack counts."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def escape(text: str) -> str:
    """Return text that shows as itself and mentions nobody, in Slack and in those that imitate it.

    A space of no width breaks mentions, in code too: one stray backtick before it turns code into text. It also keeps
    three backticks from opening or closing a block that is not ours.
    """
    return _FENCE.sub("``\u200b", _MENTION.sub("@\u200b", text)).translate(_ENTITIES)


def shortened(text: str, limit: int) -> str:
    """Return escaped text of at most `limit` units, cut before it is escaped."""
    characters = limit
    while size(written := escape(cut(text, characters))) > limit:
        characters = characters * 3 // 4
    return written


def pack(blocks: Iterable[Block], limit: int) -> list[str]:
    """Return the blocks as texts of at most `limit` units each, as few as their order allows."""
    texts: list[str] = []
    for block in blocks:
        gap = "\n" if isinstance(block, Paragraph) and block.tight else "\n\n"
        for piece in _pieces(block, limit):
            if texts and size(texts[-1]) + len(gap) + size(piece) <= limit:
                texts[-1] += gap + piece
            elif piece.strip():
                texts.append(piece)
            gap = "\n"
    return texts


def _pieces(block: Block, limit: int) -> Iterator[str]:
    written = _write(block)
    if isinstance(block, Preformatted) and not block.text:
        return
    if size(written) <= limit:
        yield written
        return
    for half in _halves(block):
        yield from _pieces(half, limit)


def _halves(block: Block) -> tuple[Block, Block]:
    if isinstance(block, Preformatted):
        at = _middle(block.text, "\n")
        return Preformatted(block.text[:at]), Preformatted(block.text[at:].removeprefix("\n"))
    spans = block.spans
    if len(spans) > 1:
        first, second = spans[: len(spans) // 2], spans[len(spans) // 2 :]
    else:
        # A link whose label alone is too long is written as text: half a link leads nowhere.
        whole = replace(spans[0], href="")
        at = _middle(whole.text, " ")
        first, second = (replace(whole, text=whole.text[:at]),), (replace(whole, text=whole.text[at:].lstrip(" ")),)
    return replace(block, spans=first), replace(block, spans=second, lead=" " * len(block.lead), tight=True)


def _middle(text: str, gap: str) -> int:
    """Return a place near the middle, at a gap if there is one, that splits no character."""
    half = len(text) // 2
    place = text.find(gap, half, half + half // 2)
    return place if place > 0 else max(1, border(text, half))


def _write(block: Block) -> str:
    if isinstance(block, Preformatted):
        return f"```\n{escape(block.text)}\n```"
    text = block.lead + _line(block.spans)
    return "\n".join(f"> {line}" for line in text.split("\n")) if block.quoted else text


def _line(spans: Iterable[Span]) -> str:
    line = ""
    for _, run in groupby(spans, key=_key):
        same = list(run)
        piece = _styled(replace(same[0], text="".join(span.text for span in same)))
        line += ("\u200b" if line.endswith("`") and piece.startswith("`") else "") + piece
    return line


def _key(span: Span) -> object:
    # Styles inside a label are dropped, so that one link stays one link.
    return span.href or replace(span, text="")


def _styled(span: Span) -> str:
    if span.href and len(span.href) <= MAX_URL:
        label = escape(" ".join(span.text.split())).replace("|", "¦")
        inner = f"<{_MENTION.sub('%40', span.href).translate(_IN_URL)}|{label or 'link'}>"
    elif span.code and "`" not in span.text:
        return _each_line(escape(span.text), "`")
    else:
        inner = escape(span.text)
    for wanted, mark in ((span.strike, "~"), (span.italic, "_"), (span.bold, "*")):
        inner = _each_line(inner, mark) if wanted else inner
    return inner


def _each_line(text: str, mark: str) -> str:
    """Put marks round each line's words: Slack reads them neither across lines nor next to a space."""
    return "\n".join(_marked(line, mark) for line in text.split("\n"))


def _marked(line: str, mark: str) -> str:
    found = _CORE.fullmatch(line)
    before, core, after = found.groups() if found else ("", line, "")
    return f"{before}{mark}{core}{mark}{after}" if core else line
