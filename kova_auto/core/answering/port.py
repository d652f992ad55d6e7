"""What a listener asks of the house: what a link shows, and to take what was answered by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from kova_auto.core.answering.asked import Filled, Shown
from kova_auto.core.answering.buttons import Press


@dataclass(frozen=True, slots=True)
class Closed:
    """Say why a link asks nothing, or what came of an answer.

    Attributes:
        status: Of HTTP: 200 where an answer was taken, 409 where another was first, 410 where its time is over, 404
            where there is no such link, 422 where the answer does not fit.
    """

    status: int
    title: str
    text: str


class Inbox(Protocol):
    """Take answers of people who were sent a link or a button."""

    async def look(self, token: str) -> Shown | Closed:
        """Return what the link's page says; changes nothing."""

    async def answer(self, token: str, said: Filled) -> Closed:
        """Take an answer by a link, and return what came of it."""

    async def press(self, press: Press) -> Closed:
        """Take an answer by a button, and return what came of it."""

    def keys(self) -> Sequence[bytes]:
        """Return what presses are signed with; empty where that secret cannot be had now."""

    def reply(self, url: str, body: bytes) -> None:
        """Have a chat told in a while, where its address is one that may be told."""
