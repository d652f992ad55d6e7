"""What the lexer makes of a command: segments of words, with what was said about each."""

from __future__ import annotations

from dataclasses import dataclass, field

from kova_auto.core.approval.shell.refusal import Refused


@dataclass(frozen=True, slots=True)
class Word:
    """Hold one word of a command.

    Attributes:
        raw: As it was typed, quotes and escapes and all; a backslash before a newline is already removed.
        value: Its text with quotes and escapes removed; a variable stays as it was typed (`$HOME`).
        plain: Only bare characters: no quote, escape, variable, glob, tilde or brace. Rules compare these alone.
        literal: `value` is exactly what the program is handed, whatever is in the environment or the directory:
            quotes and escapes may be there; no live variable, glob, leading tilde or brace.
    """

    raw: str
    value: str
    plain: bool
    literal: bool


@dataclass(frozen=True, slots=True)
class Segment:
    """Hold one simple command that bash would run; at least one word.

    Attributes:
        text: The words as typed, with one blank between them, redirects left out.
        reads: Targets of its `<` redirects, in order; all other redirects that are understood write nowhere.
        depth: How many subshells it stands in.
    """

    words: tuple[Word, ...]
    reads: tuple[Word, ...] = ()
    depth: int = 0
    text: str = field(init=False)

    def __post_init__(self) -> None:
        """Join what was typed."""
        object.__setattr__(self, "text", " ".join(word.raw for word in self.words))


@dataclass(frozen=True, slots=True)
class Lexed:
    """Hold a command that was understood: its segments in order, at least one."""

    segments: tuple[Segment, ...]


Reading = Lexed | Refused
