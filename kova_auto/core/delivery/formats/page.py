"""Write a document as one text in a dialect of Markdown, as rich as there is room for.

For receivers that take a single text. What is left out of the body is counted in it, and the command that shows all of
it is always there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from kova_auto.core.delivery.document import Document, Status
from kova_auto.core.delivery.format import Rendered, Wish, encode
from kova_auto.core.delivery.formats.commonmark import Dialect
from kova_auto.core.delivery.formats.markdown import parse
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


@dataclass(frozen=True, slots=True)
class Page:
    """Hold a document that is to be written.

    Attributes:
        titled: The title is part of the text.
    """

    document: Document
    wish: Wish
    dialect: Dialect
    titled: bool = True

    def within(self, fits: Callable[[str], bool], most: int = MOST_BODY) -> str:
        """Return the richest text that fits; the last one tried, which is below 2000 units, is returned in any case.

        Args:
            fits: Says whether a text is short enough.
            most: Characters of Markdown that may be taken from the body.
        """
        return next(filter(fits, self._ever_shorter(most)), self._briefest())

    def title(self, limit: int = _MOST_TITLE) -> str:
        """Return the title with a sign of what it means, in at most `limit` units."""
        return self.dialect.shortened(f"{SIGNS[self.document.status]} {self.document.title}", limit)

    def _ever_shorter(self, most: int) -> Iterator[str]:
        characters = max(most, LEAST_BODY)
        while True:
            kept = len(self.document.facts) if characters > LEAST_BODY * 3 else _FEW_FACTS
            yield self._joined([self._facts()[:kept], self._body(characters), self._commands()])
            if characters == LEAST_BODY:
                return
            characters = max(LEAST_BODY, characters * 3 // 4)

    def _briefest(self) -> str:
        summary = self.dialect.shortened(self.document.summary, _MOST_FACT)
        return self._joined([[summary], self._commands()[:2]])

    def _joined(self, parts: Sequence[Sequence[str]]) -> str:
        head = self.dialect.strong(self.title()) if self.titled else ""
        foot = self.dialect.shortened(footer(self.document, self.wish), _MOST_FACT)
        return "\n\n".join(filter(None, [head, *("\n".join(filter(None, lines)) for lines in parts), foot]))

    def _facts(self) -> list[str]:
        short = self.dialect.shortened
        return [f"{self.dialect.strong(label)}: {short(value, _MOST_FACT)}" for label, value in self.document.facts]

    def _body(self, characters: int) -> list[str]:
        markdown = excerpt(self.document.body_markdown, characters).text
        # Nothing is parted here: a text that is too long is made again from less.
        return self.dialect.pack(parse(markdown), 10 * MOST_BODY)

    def _commands(self) -> list[str]:
        return [self.dialect.command(command[:_MOST_COMMAND]) for command in self.document.commands]


def in_body(page: Page, message: Callable[[str], JsonValue], most: int, characters: int = MOST_BODY) -> Rendered:
    """Return the message of JSON with the richest text for which its body stays within `most` bytes."""
    return Rendered(encode(message(page.within(lambda text: len(encode(message(text))) <= most, characters))))


def footer(document: Document, wish: Wish) -> str:
    """Return the line that ends a message: remarks, and by which id a repeat can be told."""
    return " · ".join([*document.footer, wish.delivery_id[:12]])
