"""Write styled spans as HTML for mail: our own tags, and no other; nothing in it is fetched when it is read."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Final

from kova_auto.core.delivery.formats import packing
from kova_auto.core.delivery.formats.markdown import Block, Preformatted, Span
from kova_auto.core.delivery.limits import Unit

MAX_URL: Final = 2000
LINE_END: Final = "<br>\n"
GAP: Final = "<br><br>\n"


class Html:
    """Write what a dialect of Markdown writes, as `formats/page.py` asks for it."""

    unit = Unit.BYTES

    def shortened(self, text: str, limit: int) -> str:
        """Return text that shows as itself, on one line, in at most `limit` bytes."""
        return packing.shortened(text, limit, escape, self.unit.size)

    def strong(self, text: str) -> str:
        """Return text that shows as itself, and bold."""
        return _styled(Span(text, bold=True))

    def command(self, text: str) -> str:
        """Return what somebody is to type."""
        return _styled(Span(text, code=True))

    def link(self, label: str, url: str) -> str:
        """Return a link."""
        return _styled(Span(label, href=url))

    def pack(self, blocks: Iterable[Block], limit: int) -> list[str]:
        """Return the blocks as texts of at most `limit` bytes each, as few as their order allows."""
        return packing.pack(blocks, limit, self.write, self.unit.size)

    def write(self, block: Block) -> str:
        """Return one block."""
        if isinstance(block, Preformatted):
            return f"<pre>{escape(block.text)}</pre>"
        text = block.lead.replace("    ", "&emsp;") + "".join(map(_styled, packing.runs(block.spans)))
        tag = "blockquote" if block.quoted else "div" if block.tight else "p"
        return f"<{tag}>{text}</{tag}>"


def _styled(span: Span) -> str:
    inner = escape(span.text).replace("\n", LINE_END)
    for wanted, tag in ((span.code, "code"), (span.strike, "s"), (span.italic, "i"), (span.bold, "b")):
        inner = f"<{tag}>{inner}</{tag}>" if wanted else inner
    if span.href and len(span.href) <= MAX_URL:
        return f'<a href="{escape(span.href)}" rel="noreferrer">{inner}</a>'
    return inner
