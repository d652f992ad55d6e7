"""Open a run for every instant that falls due, and write down what became of all the others.

A pass asks what lies between the ledger's cursor and now. Waking up late, twice or never in between changes nothing
but the lateness.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable
from datetime import datetime

from kova_auto.core.errors import KovaError
from kova_auto.core.event import RunRequested
from kova_auto.core.ids import JobName
from kova_auto.core.job import Job
from kova_auto.core.ledger import Ledger, Occurrence
from kova_auto.core.ports import Clock, Views
from kova_auto.core.schedule.occurrences import Due, Plan, plan
from kova_auto.core.schedule.triggers import Trigger, next_fire
from kova_auto.scheduling.alarm import AlarmClock
from kova_auto.scheduling.book import JobBook
from kova_auto.scheduling.triggers import trigger_of

LOG = logging.getLogger(__name__)

Opening = Callable[[Job, datetime], RunRequested]


class Scheduler:
    """Keep the schedule of a directory of jobs."""

    def __init__(
        self, book: JobBook, ledger: Ledger, views: Views, clock: Clock, opening: Opening, ring: Callable[[], None]
    ) -> None:
        """Take what a pass needs.

        Args:
            book: The job files.
            ledger: Cursors and occurrences.
            views: Says which runs of a job have not finished.
            clock: Tells now.
            opening: Returns the event that opens the run of a job for a nominal instant.
            ring: Wakes the engine, once runs were opened.
        """
        self._book, self._ledger, self._views, self._clock = book, ledger, views, clock
        self._opening, self._ring = opening, ring
        self._triggers: dict[str, tuple[str, Trigger | None]] = {}

    async def serve(self, alarm: AlarmClock, stop: asyncio.Event) -> None:
        """Make a pass whenever the alarm rings, until `stop` is set and the alarm rung."""
        while not stop.is_set():
            next_at = await self.tick()
            alarm.set(next_at, self._clock.now())
            await alarm.rang.wait()
            alarm.rang.clear()

    async def tick(self) -> datetime | None:
        """Make one pass: open what is due; return the next instant at which anything falls due."""
        try:
            self._book.refresh()
        except KovaError as exc:
            LOG.warning("the job files could not be read: %s", exc)
        upcoming: list[datetime] = []
        for job in self._book.jobs:
            trigger = self._trigger(job)
            if trigger is None:
                continue
            try:
                await self._keep_up(job, trigger)
            except KovaError as exc:
                LOG.warning("the schedule of %s waits: %s", job.name, exc)
            if following := next_fire(trigger, self._clock.now()):
                upcoming.append(following)
        return min(upcoming, default=None)

    def _trigger(self, job: Job) -> Trigger | None:
        """Return a job's trigger, parsed once for each version of its schedule."""
        known, schedule = self._triggers.get(job.name), schedule_hash(job)
        if known is None or known[0] != schedule:
            known = self._triggers[job.name] = (schedule, trigger_of(job))
        return known[1]

    async def _keep_up(self, job: Job, trigger: Trigger) -> None:
        now, name, schedule = self._clock.now(), JobName(job.name), schedule_hash(job)
        cursor = await self._ledger.cursor(name, schedule)
        if cursor is None:
            await self._ledger.claim(name, schedule, was=None, cursor=now)
            return
        if now <= cursor or (soonest := next_fire(trigger, cursor)) is None or soonest > now:
            return
        running = len(await self._views.runs(job=name, unfinished=True, limit=1000))
        await self._claim(job, schedule, cursor, plan(trigger, cursor, now, job.policy, running=running))

    async def _claim(self, job: Job, schedule: str, cursor: datetime, due: Plan) -> None:
        runs = {item.nominal_at: self._opening(job, item.nominal_at) for item in due.due if item.runs}
        claimed = await self._ledger.claim(
            JobName(job.name),
            schedule,
            was=cursor,
            cursor=due.cursor,
            rows=[_row(job, schedule, item, runs.get(item.nominal_at)) for item in due.due],
            runs=list(runs.values()),
        )
        for item in due.due if claimed else ():
            why = f" ({item.why})" if item.why else ""
            LOG.info("%s for %s: %s%s", job.name, item.nominal_at.isoformat(), item.status, why)
        if claimed and runs:
            self._ring()


def _row(job: Job, schedule: str, item: Due, run: RunRequested | None) -> Occurrence:
    return Occurrence(
        job=JobName(job.name),
        schedule=schedule,
        nominal_at=item.nominal_at,
        due_at=item.nominal_at,
        status=item.status,
        why=item.why,
        until_at=item.until_at,
        count=item.count,
        run_id=run.run_id if run else None,
    )


def schedule_hash(job: Job) -> str:
    """Return what tells two schedules of a job apart; prompt and policy do not count."""
    text = job.schedule.model_dump_json() if job.schedule else ""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
