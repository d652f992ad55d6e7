"""Collects the lines that a search found, as the model is shown them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kova_auto.tools.output import cut
from kova_auto.tools.search import Lines

MAX_MATCHES = 200
MAX_FILE_BYTES = 2 * 1024 * 1024
MAX_LINE = 400


@dataclass(frozen=True, slots=True)
class Searched:
    """Hold a text that is searched, and its file as the model may name it."""

    name: str
    lines: Lines


@dataclass(slots=True)
class Shown:
    """Collect what the model is shown, and what it is to know about it."""

    context: int = 0
    lines: list[str] = field(default_factory=list)
    matches: int = 0
    files: int = 0
    too_large: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def full(self) -> bool:
        """Say whether there are more matches than are shown."""
        return self.matches > MAX_MATCHES

    def add(self, file: Searched, numbers: Sequence[int]) -> None:
        """Show the matches of one file, by the numbers of their lines."""
        self.files += 1
        if not numbers:
            return
        lines = file.lines.text.removesuffix("\n").split("\n")
        there = [number for number in numbers if number <= len(lines)]
        hits = there[: max(MAX_MATCHES - self.matches, 0)]
        self.matches += len(there)
        last = 0
        for number in _around(hits, self.context, len(lines)):
            if self.context and self.lines and number != last + 1:
                self.lines.append("--")
            sign = ":" if number in hits else "-"
            text = cut(lines[number - 1].removesuffix("\r"), MAX_LINE)
            self.lines.append(f"{file.name}{sign}{number}{sign}{text}")
            last = number

    def text(self) -> str:
        """Return all of it."""
        notes = list(self.notes)
        if not self.matches:
            notes.insert(0, f"[no line matches; {self.files} files were searched]")
        if self.full:
            notes.insert(0, f"[there are more than {MAX_MATCHES} matches; narrow the pattern, the path or `include`]")
        if self.too_large:
            notes.append(f"[{self.too_large} files over {MAX_FILE_BYTES} bytes were not searched]")
        return "\n".join([*self.lines, *notes])


def _around(hits: list[int], context: int, count: int) -> list[int]:
    """Return the numbers of the lines to show, each once, in order."""
    near = {number for hit in hits for number in range(max(hit - context, 1), min(hit + context, count) + 1)}
    return sorted(near)
