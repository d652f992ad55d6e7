"""Write a document as one text in the markup of its receiver, as rich as there is room for.

For receivers that take a single text. What is left out of the body is counted in it, and the command that shows all of
it is always there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from pydantic import JsonValue

from kova_auto.core.delivery.document import Document, Status
from kova_auto.core.delivery.format import Rendered, Wish, encode
from kova_auto.core.delivery.formats import packing
from kova_auto.core.delivery.formats.commonmark import Dialect
from kova_auto.core.delivery.formats.markdown import Block, parse
from kova_auto.core.delivery.formats.packing import Size
from kova_auto.core.delivery.limits import Unit
from kova_auto.core.delivery.text import excerpt

SIGNS: Final = {Status.GOOD: "✅", Status.BAD: "❌", Status.ATTENTION: "⚠️", Status.NEUTRAL: "ℹ️"}  # noqa: RUF001
PLAIN: Final = Dialect(Unit.BYTES, "", "", "", code=False, fences=False, backslash=False, links=False, autolinks=False)
"""Text for receivers that read no markup."""

MOST_BODY: Final = 12_000
LEAST_BODY: Final = 400
_MOST_FACT: Final = 300
_FEW_FACTS: Final = 3
_MOST_COMMAND: Final = 400
_MOST_TITLE: Final = 240
_MOST_URL: Final = 400


class Markup(Protocol):
    """Write parts of a text; `Dialect` does, for all of Markdown."""

    @property
    def unit(self) -> Unit:
        """Return in which unit the receiver counts."""
        ...

    def shortened(self, text: str, limit: int) -> str:
        """Return text that shows as itself, in at most `limit` units."""
        ...

    def strong(self, text: str) -> str:
        """Return text that shows as itself, and bold."""
        ...

    def command(self, text: str) -> str:
        """Return what somebody is to type."""
        ...

    def link(self, label: str, url: str) -> str:
        """Return a link."""
        ...

    def pack(self, blocks: Iterable[Block], limit: int) -> list[str]:
        """Return the blocks as texts of at most `limit` units each."""
        ...


@dataclass(frozen=True, slots=True)
class Page:
    """Hold a document that is to be written.

    Attributes:
        titled: The title is part of the text.
        line_end: Between two lines.
        gap: Between two parts.
    """

    document: Document
    wish: Wish
    markup: Markup
    titled: bool = True
    line_end: str = "\n"
    gap: str = "\n\n"

    def within(self, limit: int, size: Size | None = None, most: int = MOST_BODY) -> str:
        """Return a text that is as rich as fits.

        Args:
            limit: At least 2000.
            size: How much of it a text takes; None for what the markup counts.
            most: Characters of Markdown that may be taken from the body.
        """
        measure, characters = size or self.markup.unit.size, max(most, LEAST_BODY)
        while (taken := measure(text := self._text(characters))) > limit:
            if characters == LEAST_BODY:
                return self._briefest()
            characters = max(LEAST_BODY, min(characters * limit // taken, characters * 9 // 10))
        return text

    def title(self, limit: int = _MOST_TITLE) -> str:
        """Return the title with a sign of what it means, in at most `limit` units."""
        return self.markup.shortened(self._heading, limit)

    @property
    def _heading(self) -> str:
        return f"{SIGNS[self.document.status]} {self.document.title}"

    def _text(self, characters: int) -> str:
        kept = len(self.document.facts) if characters > LEAST_BODY * 2 else _FEW_FACTS
        return self._joined([self._facts()[:kept], self._body(characters), [*self._links(), *self._commands()]])

    def _briefest(self) -> str:
        summary = self.markup.shortened(self.document.summary, _MOST_FACT)
        return self._joined([[summary], [*self._links()[:1], *self._commands()[:2]]])

    def _joined(self, parts: Sequence[Sequence[str]]) -> str:
        head = self._fitting(self._heading, _MOST_TITLE, self.markup.strong) if self.titled else ""
        foot = self.markup.shortened(footer(self.document, self.wish), _MOST_FACT)
        return self.gap.join(filter(None, [head, *(self.line_end.join(filter(None, lines)) for lines in parts), foot]))

    def _facts(self) -> list[str]:
        bold, short = self.markup.strong, self.markup.shortened
        return [f"{bold(label)}: {short(value, _MOST_FACT)}" for label, value in self.document.facts]

    def _body(self, characters: int) -> list[str]:
        markdown = excerpt(self.document.body_markdown, characters).text
        # Nothing is parted here: a text that is too long is made again from less.
        return self.markup.pack(parse(markdown), 100 * MOST_BODY)

    def _links(self) -> list[str]:
        short = [(label, url) for label, url in self.document.links if len(url) <= _MOST_URL]
        return [self.markup.link(label, url) for label, url in short]

    def _commands(self) -> list[str]:
        return [self._fitting(command, _MOST_COMMAND, self.markup.command) for command in self.document.commands]

    def _fitting(self, text: str, limit: int, written: Callable[[str], str]) -> str:
        return packing.shortened(text, limit, written, self.markup.unit.size)


def in_body(page: Page, message: Callable[[str], JsonValue], most: int, characters: int = MOST_BODY) -> Rendered:
    """Return the message of JSON with the richest text for which its body stays within `most` bytes."""
    return Rendered(encode(message(page.within(most, lambda text: len(encode(message(text))), characters))))


def footer(document: Document, wish: Wish) -> str:
    """Return the line that ends a message: remarks, and by which id a repeat can be told."""
    return " · ".join([*document.footer, wish.delivery_id[:12]])
