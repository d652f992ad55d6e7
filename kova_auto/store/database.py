"""How the journal reaches its database: pieces of work, each run in one transaction on some thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from sqlalchemy import Connection

from kova_auto.core.errors import JournalError

T = TypeVar("T")
Work = Callable[[Connection], T]


class Database(Protocol):
    """Run work in transactions; a piece of work may be run again, so it touches nothing but its connection.

    Attributes:
        place: The file, or name and host, for messages: never a password.
    """

    place: str

    async def write(self, work: Work[T]) -> T:
        """Return what `work` returned once it is committed; what it raises undoes it.

        Raises:
            JournalError: The database did not do it.
        """

    async def jot(self, work: Work[T]) -> T:
        """Do the same by the shortest way, for a few rows that are not large."""

    async def read(self, work: Work[T]) -> T:
        """Return what `work` found; it cannot change anything."""

    async def look(self, work: Work[T]) -> T:
        """Return the same, by the shortest way, for a question whose rows an index leads to and are not many."""

    def close(self) -> None:
        """Finish what was begun and let go of the database; safe to call twice."""


def closed(place: str) -> JournalError:
    """Return what is raised for work that comes too late."""
    return JournalError(f"the database {place} is closed")
