"""Write styled spans in Slack's markup, in pieces of bounded size.

The only `<` that is ever written opens one of our own links, so nothing a model says can mention anybody. A piece is
never cut inside a link, an entity, a code block or a pair of style marks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from kova_auto.core.delivery.formats import packing
from kova_auto.core.delivery.formats.markdown import Block, Preformatted, Span

MAX_URL = 2000
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_IN_URL = str.maketrans({"&": "&amp;", "<": "%3C", ">": "%3E", "|": "%7C", " ": "%20"})
_MENTION = re.compile(r"@(?=(?:here|channel|everyone|group)\b)", re.IGNORECASE)
_FENCE = re.compile("``(?=`)")


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
    return packing.shortened(text, limit, escape, size)


def pack(blocks: Iterable[Block], limit: int) -> list[str]:
    """Return the blocks as texts of at most `limit` units each, as few as their order allows."""
    return packing.pack(blocks, limit, _write, size)


def _write(block: Block) -> str:
    if isinstance(block, Preformatted):
        return f"```\n{escape(block.text)}\n```"
    text = block.lead + _line(block.spans)
    return "\n".join(f"> {line}" for line in text.split("\n")) if block.quoted else text


def _line(spans: Iterable[Span]) -> str:
    line = ""
    for span in packing.runs(spans):
        piece = _styled(span)
        line += ("\u200b" if line.endswith("`") and piece.startswith("`") else "") + piece
    return line


def _styled(span: Span) -> str:
    if span.href and len(span.href) <= MAX_URL:
        label = escape(" ".join(span.text.split())).replace("|", "¦")
        inner = f"<{_MENTION.sub('%40', span.href).translate(_IN_URL)}|{label or 'link'}>"
    elif span.code and "`" not in span.text:
        return packing.marked(escape(span.text), "`")
    else:
        inner = escape(span.text)
    for wanted, mark in ((span.strike, "~"), (span.italic, "_"), (span.bold, "*")):
        inner = packing.marked(inner, mark) if wanted else inner
    return inner
