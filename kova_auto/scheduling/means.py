"""What a pass over the schedule works with, and says."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Protocol

from kova_auto.core.errors import KovaError
from kova_auto.core.event import RunRequested
from kova_auto.core.ids import JobName, RunId
from kova_auto.core.inbound.hook import Hooks
from kova_auto.core.job import Job
from kova_auto.core.ledger import Ledger
from kova_auto.core.ports import Journal, SteadyClock, Views

LOG = logging.getLogger(__name__)
_ONCE_IN: Final = timedelta(minutes=1)
TAINTED: Final = "parent_tainted_by"
"""Of what is given to a run: the untrusted text behind its parents' answers; empty where there is none."""


@dataclass(frozen=True, slots=True)
class Occasion:
    """Say for which instant a run is opened.

    Attributes:
        given: Values of inputs that come from elsewhere than the job file, as from a parent's run.
    """

    nominal_at: datetime
    due_at: datetime
    given: tuple[tuple[str, str], ...] = ()


class Opening(Protocol):
    """Return the event that opens the run of a job."""

    def __call__(self, job: Job, occasion: Occasion) -> Awaitable[RunRequested]:
        """Return it; it is written with its row."""


class Grumbles:
    """Say in the log what is wrong with jobs, of each at most once a minute."""

    def __init__(self) -> None:
        """Begin with nothing said."""
        self._said: dict[JobName, datetime] = {}

    @contextmanager
    def about(self, job: JobName, now: datetime) -> Iterator[None]:
        """Let whatever goes wrong with a job in the block be said, and stop no other job."""
        try:
            yield
        except KovaError as exc:
            if self._may(job, now):
                LOG.warning("the schedule of %s waits: %s", job, exc)
        except Exception as exc:  # As in engine/service.py: a pass must not end for all.
            level = logging.ERROR if self._may(job, now) else logging.DEBUG
            LOG.log(level, "the schedule of %s waits: a failure that nobody foresaw", job, exc_info=exc)

    def _may(self, job: JobName, now: datetime) -> bool:
        last = self._said.get(job)
        if last is not None and timedelta(0) <= now - last < _ONCE_IN:
            return False
        self._said[job] = now
        return True


@dataclass(frozen=True, slots=True)
class Means:
    """Hold what a pass needs.

    Attributes:
        ledger: Cursors and occurrences.
        views: Says which runs of a job have not finished, and how the others have ended.
        journal: Takes the request that a run stop for the next one.
        clock: Tells now, and what it would be had nobody set it.
        opening: Returns the event that opens a run.
        ring: Wakes the engine, once runs were opened.
        asked: Wakes whoever performs a run that was asked to stop.
        hooks: Keeps the requests of webhooks; None where none can come.
    """

    ledger: Ledger
    views: Views
    journal: Journal
    clock: SteadyClock
    opening: Opening
    ring: Callable[[], None]
    asked: Callable[[RunId], None]
    grumbles: Grumbles = field(default_factory=Grumbles)
    hooks: Hooks | None = None


def schedule_hash(job: Job) -> str:
    """Return what tells two schedules of a job apart; prompt and policy do not count."""
    return hashlib.sha256(schedule_text(job).encode()).hexdigest()[:16]


def schedule_text(job: Job) -> str:
    """Return a job's `[schedule]` as JSON."""
    return job.schedule.model_dump_json() if job.schedule else ""
