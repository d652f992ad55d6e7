"""Read an answer out of an action while it is still being written."""

from __future__ import annotations

import json
import re
from typing import Final

from kova_auto.llm.unicode import Pieces

_SO_FAR: Final = re.compile(r'\s*\{\s*"final"\s*:\s*"((?:[^"\\]|\\(?:u[0-9a-fA-F]{4}|[^u]))*)')
"""The answer as far as it has come; half an escape is left for later."""
_LOOP: Final = 240
"""Characters that are nothing but repetitions of at most a third of them."""


class Answer:
    """Collect an action; what is given back for each piece of it can be shown at once."""

    def __init__(self) -> None:
        self.action = ""
        self._read = 0
        self._pieces = Pieces()

    def add(self, piece: str) -> str:
        """Take a piece of the action; return what it adds to the answer."""
        self.action += piece
        found = _SO_FAR.match(self.action)
        if found is None or found.end() <= self._read:
            return ""
        begins = max(self._read, found.start(1))
        self._read = found.end()
        return self._pieces.add(json.loads(f'"{self.action[begins : self._read]}"', strict=False))

    @property
    def is_endless(self) -> bool:
        """Say whether it says one short thing again and again: a small model does not find out of that by itself."""
        end = self.text[-_LOOP:]
        if len(end) < _LOOP:
            return False
        return any(end[period:] == end[:-period] for period in range(1, _LOOP // 3 + 1))

    @property
    def text(self) -> str:
        """Return the answer so far; empty where the action is another."""
        return self._pieces.text()
