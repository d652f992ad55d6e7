"""Say that a job's runs take longer than its schedule leaves them: each may be a success, and instants are lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median
from typing import Final

from kova_auto.core.duration import render_duration
from kova_auto.core.job import Policy
from kova_auto.core.schedule.timetable import Timetable
from kova_auto.core.view import RunRow

LOOKED_AT: Final = 20
_ENOUGH: Final = 3
"""One run that took long is no habit."""
_INSTANTS: Final = 10
_LOST: Final = {
    "skip": "instants are skipped",
    "queue": "ever more of them wait",
    "buffer_one": "instants are replaced by newer ones",
    "cancel_previous": "runs are cancelled for the next one",
    "allow": "instants are skipped once policy.max_parallel runs go on",
}


@dataclass(frozen=True, slots=True)
class Cadence:
    """Hold how long runs take beside how often they are due.

    Attributes:
        every: The shortest time from one of the next instants to another.
        ran: The median of how long runs took once they had begun.
        waited: The median of how long they had waited for that since their instant.
        runs: How many were looked at.
    """

    every: timedelta
    ran: timedelta
    waited: timedelta
    runs: int

    def overruns(self, policy: Policy) -> bool:
        """Say whether runs take longer than there is room for."""
        at_once = policy.max_parallel if policy.overlap == "allow" else 1
        return self.ran > self.every * at_once

    def said(self, policy: Policy) -> str:
        """Say what comes of it, waiting and running apart."""
        took = f"its runs take {_spell(self.ran)} (median of {self.runs}) after {_spell(self.waited)} of waiting"
        lost = f"{_LOST[policy.overlap]} (policy.overlap = {policy.overlap})"
        return f"{took}, and it is due every {_spell(self.every)}: {lost}"


def cadence(timetable: Timetable, ended: Sequence[RunRow], now: datetime) -> Cadence | None:
    """Return how long a job's runs take beside how often they are due; None where that cannot be said.

    Args:
        timetable: Of the job.
        ended: Runs of it that have finished; those that somebody asked for, or that never began, do not count.
        now: UTC.
    """
    every = shortest(timetable, now)
    runs = [
        (row.nominal_at, row.started_at, row.finished_at)
        for row in ended[:LOOKED_AT]
        if row.origin == "schedule" and row.nominal_at and row.started_at and row.finished_at
    ]
    if every is None or len(runs) < _ENOUGH:
        return None
    ran = median((finished - started).total_seconds() for _, started, finished in runs)
    waited = median(max((started - nominal).total_seconds(), 0.0) for nominal, started, _ in runs)
    return Cadence(every, timedelta(seconds=ran), timedelta(seconds=waited), len(runs))


def shortest(timetable: Timetable, now: datetime) -> timedelta | None:
    """Return the shortest time between two of the next instants; None where there are not two."""
    instants: list[datetime] = []
    following = timetable.next_open(now)
    while following is not None and len(instants) < _INSTANTS:
        instants.append(following)
        following = timetable.next_open(following)
    return min((later - earlier for earlier, later in pairwise(instants)), default=None)


def _spell(duration: timedelta) -> str:
    return render_duration(timedelta(seconds=round(duration.total_seconds())))
