"""Name what a run is shown besides its prompt, and where each piece came from; or why it is not shown."""

from __future__ import annotations

from enum import StrEnum

from kova_auto.core.value import Value


class SourceKind(StrEnum):
    """Say what kind of thing a run is shown."""

    MEMORY = "memory"
    DIGEST = "digest"
    SKILL = "skill"
    INSTRUCTIONS = "instructions"
    MENTION = "mention"
    ATTACHMENT = "attachment"


class Source(Value):
    """Say that something was shown to a run, or why not.

    Attributes:
        name: A path, or what else tells it from others of its kind.
        chars: Characters of text that the model is told; of an image, none.
        cut: There is more of it than the model is told.
        problem: Why it is not shown, as a sentence without its end; empty where it is.
    """

    kind: SourceKind
    name: str
    chars: int = 0
    cut: bool = False
    problem: str = ""
