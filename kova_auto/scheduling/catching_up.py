"""Let what was missed begin gently: one job after the other, and never too many at a time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from kova_auto.core.ids import RunId
from kova_auto.core.ports import Views

LOOK_AGAIN = timedelta(seconds=15)


@dataclass(frozen=True, slots=True)
class CatchUp:
    """Say how gently, so that a day's work does not begin in one minute.

    Attributes:
        at_once: So many runs that catch up may be under way for a further job to begin.
        spacing: Between the beginnings of two jobs.
    """

    at_once: int = 5
    spacing: timedelta = timedelta(seconds=15)


class Gate:
    """Let jobs through, as their runs that catch up come to an end."""

    def __init__(self, views: Views, gently: CatchUp) -> None:
        """Be open."""
        self._views, self._gently = views, gently
        self._under_way: list[RunId] = []
        self._last: datetime | None = None

    async def opens_at(self, now: datetime) -> datetime | None:
        """Return when the next job may be let through; None where that is now."""
        since = now - self._last if self._last else self._gently.spacing
        if timedelta(0) <= since < self._gently.spacing:  # Else the clock was set back.
            return now + self._gently.spacing - since
        rows = [await self._views.run(run_id) for run_id in self._under_way]
        self._under_way = [row.run_id for row in rows if row and row.finished_at is None]
        return now + LOOK_AGAIN if len(self._under_way) >= self._gently.at_once else None

    def passed(self, runs: Iterable[RunId], now: datetime) -> None:
        """Remember the runs with which a job was let through."""
        self._under_way += runs
        self._last = now
