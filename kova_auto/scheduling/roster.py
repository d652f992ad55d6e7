"""Know every job's schedule, how far it is accounted for, and which falls due next: a heap, whatever their number.

Cursors are read once for each version of a schedule; whoever claims an instant reads its cursor again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from heapq import heappop, heappush

from kova_auto.core.errors import KovaError
from kova_auto.core.ids import JobName
from kova_auto.core.job import Job
from kova_auto.core.ledger import NO_SCHEDULE, Ledger, ScheduleVersion, Standing
from kova_auto.core.schedule.occurrences import SET_BACK
from kova_auto.core.schedule.timetable import Timetable
from kova_auto.core.schedule.triggers import AfterTrigger
from kova_auto.scheduling.book import JobBook
from kova_auto.scheduling.closing import close
from kova_auto.scheduling.means import schedule_hash, schedule_text
from kova_auto.scheduling.triggers import Calendars, timetable_of

LOG = logging.getLogger(__name__)


@dataclass(slots=True)
class Scheduled:
    """Hold one job that has a schedule.

    Attributes:
        key: Hash of the schedule.
        begun_at: When it had this schedule first.
        cursor: As it was when it was read last.
        rings_at: When it is to be looked at next, as the heap says; None where it is not in the heap.
    """

    job: Job
    key: str
    timetable: Timetable
    begun_at: datetime
    cursor: datetime
    rings_at: datetime | None = None

    @property
    def name(self) -> JobName:
        """Return the job's name."""
        return JobName(self.job.name)


class Roster:
    """Keep the schedules of a book.

    Attributes:
        children: Those that wait for other jobs, so that nobody looks for them among thousands.
    """

    def __init__(self, book: JobBook, ledger: Ledger, calendars: Calendars | None = None) -> None:
        """Begin with nothing; `refresh` reads it."""
        self._book, self._ledger, self._calendars = book, ledger, calendars
        self.children: Sequence[tuple[Scheduled, AfterTrigger]] = ()
        self._known: dict[JobName, Scheduled] = {}
        self._had: dict[JobName, str] | None = None
        self._heap: list[tuple[datetime, JobName]] = []
        self._stale = True

    def __iter__(self) -> Iterator[Scheduled]:
        return iter(self._known.values())

    def get(self, name: JobName) -> Scheduled | None:
        """Return a job's schedule; None where it has none."""
        return self._known.get(name)

    def is_parked(self, name: JobName) -> bool:
        """Say whether a job's file is there and broken, and was never anything else: who knows what it says."""
        entry = self._book.entries.get(name)
        return entry is not None and entry.job is None

    def heeds_no_requests(self, name: JobName) -> bool:
        """Say whether a job is gone for certain, or is not started by a webhook any more."""
        if self._stale:
            return False
        entry = self._book.entries.get(name)
        return entry is None or (entry.job is not None and not (entry.job.schedule and entry.job.schedule.webhook))

    async def refresh(self, now: datetime) -> list[Scheduled]:
        """Read what has changed, let new schedules begin now, and return those that began, or were found at the start.

        Raises:
            KovaError: The ledger did not answer; the next refresh makes up for it.
        """
        changed_files = self._look()
        if changed_files is None or not (changed_files or self._stale):
            return []
        self._stale = True
        jobs = {JobName(job.name): job for job in self._book.jobs if job.schedule}
        keys = {name: self._key(name, job) for name, job in jobs.items()}
        changed = [name for name in jobs if name not in self._known or self._known[name].key != keys[name]]
        await self._begin(jobs, keys, now)
        fresh = await self._scheduled({name: jobs[name] for name in changed}, keys) if changed else {}
        there = {name: job for name, job in jobs.items() if name in fresh or name in self._known}
        self._known = {name: fresh.get(name) or self._with(name, job) for name, job in there.items()}
        for scheduled in fresh.values():
            self.put(scheduled)
        self.children = [
            (scheduled, trigger)
            for scheduled in self
            if isinstance(trigger := scheduled.timetable.trigger, AfterTrigger)
        ]
        self._stale = False
        return list(fresh.values())

    def put(self, scheduled: Scheduled, after: datetime | None = None) -> None:
        """Have a job looked at when the first instant behind its cursor, or another instant, is due."""
        nominal = scheduled.timetable.next_nominal(scheduled.cursor if after is None else after)
        scheduled.rings_at = None if nominal is None else scheduled.timetable.due_at(nominal)
        if scheduled.rings_at is not None:
            heappush(self._heap, (scheduled.rings_at, scheduled.name))

    def take(self, now: datetime) -> Iterator[Scheduled]:
        """Yield each job that is to be looked at now, and take it out of the heap."""
        while self._heap and self._heap[0][0] <= now:
            rings_at, name = heappop(self._heap)
            if (scheduled := self._current(rings_at, name)) is not None:
                scheduled.rings_at = None
                yield scheduled

    def next_at(self) -> datetime | None:
        """Return when the next job is to be looked at."""
        while self._heap and self._current(*self._heap[0]) is None:
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def ahead(self, now: datetime) -> list[Scheduled]:
        """Return those whose cursor a clock that was wrong has moved far into what is now the future."""
        return [scheduled for scheduled in self if scheduled.cursor - now > SET_BACK]

    def _current(self, rings_at: datetime, name: JobName) -> Scheduled | None:
        scheduled = self._known.get(name)
        return scheduled if scheduled is not None and scheduled.rings_at == rings_at else None

    def _look(self) -> bool | None:
        """Say whether the files have changed; None where they could not be read."""
        try:
            return self._book.refresh()
        except KovaError as exc:
            LOG.warning("the job files could not be read: %s", exc)
        except Exception:  # What is known goes on.
            LOG.exception("the job files could not be read: a failure that nobody foresaw")
        return None

    def _key(self, name: JobName, job: Job) -> str:
        known = self._known.get(name)
        return known.key if known and known.job.schedule == job.schedule else schedule_hash(job)

    def _with(self, name: JobName, job: Job) -> Scheduled:
        scheduled = self._known[name]
        scheduled.job = job
        return scheduled

    async def _begin(self, jobs: dict[JobName, Job], keys: dict[JobName, str], now: datetime) -> None:
        """Write down which schedules have begun, and which are gone."""
        had = {one.job: one.schedule for one in await self._ledger.standings()} if self._had is None else self._had
        versions = [
            ScheduleVersion(job=name, begun_at=now, schedule=keys[name], body=schedule_text(job))
            for name, job in jobs.items()
            if had.get(name) != keys[name]
        ]
        gone = [name for name, key in had.items() if key and name not in jobs and not self.is_parked(name)]
        versions += [ScheduleVersion(job=name, begun_at=now, schedule=NO_SCHEDULE) for name in gone]
        ended = {version.job for version in versions if had.get(version.job)}
        if ended:
            over = [one for one in await self._ledger.standings() if one.job in ended]
            await close(self._ledger, over, now, self._calendars)
        await self._ledger.begin(versions)
        self._had = had | {version.job: version.schedule for version in versions}

    async def _scheduled(self, jobs: dict[JobName, Job], keys: dict[JobName, str]) -> dict[JobName, Scheduled]:
        standings = {one.job: one for one in await self._ledger.standings()}
        found = {}
        for name, job in jobs.items():
            standing = standings.get(name)
            if standing is None or standing.schedule != keys[name]:
                continue  # Another service has another file.
            if scheduled := self._of(job, standing):
                found[name] = scheduled
        return found

    def _of(self, job: Job, standing: Standing) -> Scheduled | None:
        timetable = timetable_of(job, standing.begun_at, self._calendars)
        if timetable is None:
            return None
        return Scheduled(job, standing.schedule, timetable, standing.begun_at, standing.cursor)
