"""Find tools by words: in their own names, in their servers' names, in what is said of them.

Source: reference on the original, section 9, for the weights and the counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from kova_auto.core.mcp.listing import ToolInfo

DEFAULT: Final = 12
MOST: Final = 40
_NAME, _SERVER, _DESCRIPTION = 12, 8, 5
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Offered:
    """Hold a tool with the address of its server, and what the server is for."""

    server: str
    tool: ToolInfo
    purpose: str = ""


@dataclass(frozen=True, slots=True)
class Hits:
    """Hold the tools that were found, the best first, and how many there are in all."""

    found: tuple[Offered, ...]
    total: int


def search(query: str, offered: Iterable[Offered], limit: int = DEFAULT) -> Hits:
    """Return the tools that a query finds; without a word in it, all of them in their order."""
    words = dict.fromkeys(word.casefold() for word in _WORD.findall(query))
    scored = [(_score(words, one), one) for one in offered]
    kept = sorted((pair for pair in scored if pair[0] or not words), key=lambda pair: -pair[0])
    return Hits(tuple(one for _, one in kept[: min(limit, MOST)]), len(kept))


def _score(words: Iterable[str], one: Offered) -> int:
    fields = (
        (_NAME, one.tool.name.casefold()),
        (_SERVER, f"{one.server} {one.purpose}".casefold()),
        (_DESCRIPTION, f"{one.tool.title} {one.tool.description}".casefold()),
    )
    return sum(weight for word in words for weight, text in fields if word in text)
