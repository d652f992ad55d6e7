"""Warn of jobs whose runs take longer than their schedule leaves them, once a day each."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from kova_auto.core.ids import JobName
from kova_auto.core.schedule.cadence import LOOKED_AT, cadence, shortest
from kova_auto.core.view import RunRow
from kova_auto.scheduling.means import Means
from kova_auto.scheduling.roster import Roster, Scheduled

LOG = logging.getLogger(__name__)
_AGAIN: Final = timedelta(days=1)


class Cadences:
    """Look at the runs that have ended."""

    def __init__(self, means: Means, roster: Roster) -> None:
        """Take what it works with; nothing was said yet."""
        self._means, self._roster = means, roster
        self._said: dict[JobName, datetime] = {}

    async def look(self, ended: Iterable[RunRow]) -> None:
        """Warn of the jobs of these runs, where what they took is their habit."""
        now = self._means.clock.now()
        for row in ended:
            scheduled = self._roster.get(row.job)
            if scheduled and self._may(row.job, now) and _took_long(row, scheduled, now):
                with self._means.grumbles.about(row.job, now):
                    await self._warn(scheduled, now)

    async def _warn(self, scheduled: Scheduled, now: datetime) -> None:
        last = await self._means.views.last_runs(scheduled.name, limit=LOOKED_AT)
        found, policy = cadence(scheduled.timetable, last, now), scheduled.job.policy
        if found and found.overruns(policy):
            self._said[scheduled.name] = now
            LOG.warning("%s: %s", scheduled.name, found.said(policy))

    def _may(self, name: JobName, now: datetime) -> bool:
        said_at = self._said.get(name)
        return said_at is None or not timedelta(0) <= now - said_at < _AGAIN


def _took_long(row: RunRow, scheduled: Scheduled, now: datetime) -> bool:
    """Say whether a run took longer than its schedule left it, which is quickly known."""
    if row.started_at is None or row.finished_at is None:
        return False
    every = shortest(scheduled.timetable, now)
    return every is not None and row.finished_at - row.started_at > every
