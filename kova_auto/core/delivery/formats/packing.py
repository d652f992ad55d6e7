"""Part blocks into texts of bounded size, whatever markup they are written in.

A block that is too long is parted before it is written, so every text is well formed: no link, no pair of marks, no
code block and no character is ever cut.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import groupby

from kova_auto.core.delivery.formats.markdown import Block, Paragraph, Preformatted, Span
from kova_auto.core.delivery.text import border, cut

Size = Callable[[str], int]
_CORE = re.compile(r"(\s*)(.*?)(\s*)", re.DOTALL)


def pack(blocks: Iterable[Block], limit: int, write: Callable[[Block], str], size: Size) -> list[str]:
    """Return the blocks as texts of at most `limit` units each, as few as their order allows.

    Args:
        blocks: Any number; those without text are left out.
        limit: At least 100.
        write: Gives one block in the markup of its receiver.
        size: Counts a text in the receiver's unit; the parts of a text count as much as the whole.
    """
    texts: list[str] = []
    taken = 0
    for block in blocks:
        gap = "\n" if isinstance(block, Paragraph) and block.tight else "\n\n"
        for _, piece in parted(block, limit, write, size):
            length = size(piece)
            if texts and taken + size(gap) + length <= limit:
                texts[-1] += gap + piece
                taken += size(gap) + length
            elif piece.strip():
                texts.append(piece)
                taken = length
            gap = "\n"
    return texts


def parted(block: Block, limit: int, write: Callable[[Block], str], size: Size) -> Iterator[tuple[Block, str]]:
    """Yield a block with its text, in parts of which each takes at most `limit` units; none that is empty."""
    written = write(block)
    if isinstance(block, Preformatted) and not block.text:
        return
    if size(written) <= limit:
        yield block, written
        return
    for half in _halves(block):
        yield from parted(half, limit, write, size)


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


def runs(spans: Iterable[Span]) -> Iterator[Span]:
    """Yield the spans with equal neighbours joined: one link stays one link, whatever styles are in its label."""
    for _, group in groupby(spans, key=_key):
        first, *others = group
        yield replace(first, text="".join([first.text, *(span.text for span in others)])) if others else first


def _key(span: Span) -> object:
    return span.href or (span.bold, span.italic, span.strike, span.code)


def marked(text: str, mark: str) -> str:
    """Return text with marks round each line's words: few receivers read them across lines or next to a space."""
    return "\n".join(_marked(line, mark) for line in text.split("\n"))


def _marked(line: str, mark: str) -> str:
    found = _CORE.fullmatch(line)
    before, core, after = found.groups() if found else ("", line, "")
    return f"{before}{mark}{core}{mark}{after}" if core else line


def shortened(text: str, limit: int, escape: Callable[[str], str], size: Size) -> str:
    """Return escaped text of at most `limit` units, cut before it is escaped."""
    characters = limit
    while size(written := escape(cut(text, characters))) > limit:
        characters = characters * 3 // 4
    return written
