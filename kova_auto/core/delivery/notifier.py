"""Say what is carried by another's library instead of by our own HTTP: best effort, and nobody confirms it."""

from __future__ import annotations

from typing import Protocol

from pydantic import Field

from kova_auto.core.delivery.document import Status
from kova_auto.core.delivery.outcome import AttemptResult
from kova_auto.core.value import Value


class Note(Value):
    """Hold one message, the same on every attempt.

    Attributes:
        text: Plain text, or HTML of our own making.
    """

    title: str
    text: str = Field(repr=False)
    is_html: bool = False
    status: Status = Status.NEUTRAL


class Notifier(Protocol):
    """Carry notes to wherever a URL of its own kind points."""

    async def notify(self, url: str, note: Note, *, deadline_s: float) -> AttemptResult:
        """Return what came of one attempt.

        Args:
            url: A credential: it is not shown, nor part of an answer.
            note: What is told.
            deadline_s: For everything together.

        Raises:
            ConfigError: It cannot be carried before a person has mended something.
        """
        ...
