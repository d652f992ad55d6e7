"""Open a run for every instant that falls due, and write down what became of all the others.

A pass asks what lies between the ledger's cursor and now. Waking up late, twice or never in between changes nothing
but the lateness.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from kova_auto.core.day import BUDGET, day_is_spent, say_spent
from kova_auto.core.errors import KovaError
from kova_auto.core.event import RunRequested
from kova_auto.core.holding import said_busy
from kova_auto.core.ids import JobName, RunId
from kova_auto.core.job import Job
from kova_auto.core.ledger import Ledger, Occurrence
from kova_auto.core.pausing import PAUSED, pauses
from kova_auto.core.ports import Clock, Views
from kova_auto.core.schedule.occurrences import Due, Plan, is_due, plan
from kova_auto.core.schedule.triggers import Trigger, next_fire
from kova_auto.scheduling.book import JobBook
from kova_auto.scheduling.catching_up import CatchUp, Gate
from kova_auto.scheduling.triggers import trigger_of

LOG = logging.getLogger(__name__)

Opening = Callable[[Job, datetime], Awaitable[RunRequested]]


class Alarm(Protocol):
    """Ring at an instant."""

    rang: asyncio.Event

    def set(self, at: datetime | None, now: datetime) -> None:
        """Ring then, or after the longest sleep, whichever comes first."""


@dataclass(slots=True)
class _Schedule:
    """Hold a job's schedule as the last pass saw it.

    Attributes:
        key: Its hash.
        after: The pass after which it appeared, or was edited; None for what the first pass found.
        begun: Its cursor is where it should be.
    """

    key: str
    trigger: Trigger | None
    after: datetime | None
    begun: bool = False


@dataclass(frozen=True, slots=True)
class _Late:
    """Hold what a job has to catch up with."""

    job: Job
    key: str
    cursor: datetime
    due: Plan


class Scheduler:
    """Keep the schedule of a directory of jobs."""

    def __init__(
        self,
        book: JobBook,
        ledger: Ledger,
        views: Views,
        clock: Clock,
        opening: Opening,
        ring: Callable[[], None],
        *,
        catch_up: CatchUp,
    ) -> None:
        """Take what a pass needs.

        Args:
            book: The job files.
            ledger: Cursors and occurrences.
            views: Says which runs of a job have not finished, and whether its last one lets it rest.
            clock: Tells now.
            opening: Returns the event that opens the run of a job for a nominal instant.
            ring: Wakes the engine, once runs were opened.
            catch_up: How gently jobs catch up with what was missed.
        """
        self._book, self._ledger, self._views, self._clock = book, ledger, views, clock
        self._opening, self._ring = opening, ring
        self._schedules: dict[JobName, _Schedule] = {}
        self._last_pass: datetime | None = None
        self._gate = Gate(views, catch_up)

    async def serve(self, alarm: Alarm, stop: asyncio.Event) -> None:
        """Make a pass whenever the alarm rings, until `stop` is set and the alarm rung."""
        while not stop.is_set():
            next_at = await self.tick()
            alarm.set(next_at, self._clock.now())
            await alarm.rang.wait()
            alarm.rang.clear()

    async def tick(self) -> datetime | None:
        """Make one pass: open what is due; return the next instant at which anything falls due."""
        now = self._clock.now()
        jobs = self._refresh()
        late = [found for name, job in jobs.items() if (found := await self._look_after(name, job))]
        again_at = await self._catch_up(late)
        self._last_pass = now
        triggers = [schedule.trigger for schedule in self._schedules.values() if schedule.trigger]
        following = (
            next_fire(trigger, now) for trigger in triggers
        )  # What came during the pass is to be seen at once.
        return min((instant for instant in (again_at, *following) if instant), default=None)

    async def _look_after(self, name: JobName, job: Job) -> _Late | None:
        """Keep up with one job, whatever is wrong with others; return what it has to catch up with."""
        try:
            return await self._keep_up(job, self._schedules[name])
        except KovaError as exc:
            LOG.warning("the schedule of %s waits: %s", name, exc)
        except Exception:  # As in engine/service.py: a pass must not end for all.
            LOG.exception("the schedule of %s waits: a failure that nobody foresaw", name)
        return None

    async def _catch_up(self, late: Sequence[_Late]) -> datetime | None:
        """Let jobs catch up, the oldest instant first; return when that goes on, where some have to wait."""
        for one in sorted(late, key=lambda late: (late.due.due[0].nominal_at, late.job.name)):
            try:
                if opens_at := await self._gate.opens_at(self._clock.now()):
                    return opens_at
                runs = await self._claim(one.job, one.key, one.cursor, one.due)
            except KovaError as exc:
                LOG.warning("the schedule of %s waits: %s", one.job.name, exc)
            else:
                self._gate.passed(runs, self._clock.now())
        return None

    def _refresh(self) -> dict[JobName, Job]:
        """Read what has changed; forget the schedules of jobs that are gone."""
        try:
            self._book.refresh()
        except KovaError as exc:
            LOG.warning("the job files could not be read: %s", exc)
        except Exception:  # What is known goes on.
            LOG.exception("the job files could not be read: a failure that nobody foresaw")
        jobs = {JobName(job.name): job for job in self._book.jobs}
        self._schedules = {name: self._schedule(name, job) for name, job in jobs.items()}
        return jobs

    def _schedule(self, name: JobName, job: Job) -> _Schedule:
        """Return a job's schedule, parsed once for each version of it."""
        known, key = self._schedules.get(name), schedule_hash(job)
        return known if known and known.key == key else _Schedule(key, trigger_of(job), self._last_pass)

    async def _keep_up(self, job: Job, schedule: _Schedule) -> _Late | None:
        """Claim what is due, unless it catches up: that is returned, and left for when it may."""
        if schedule.trigger is None:
            return None
        now, name, late = self._clock.now(), JobName(job.name), None
        cursor = await self._ledger.cursor(name, schedule.key)
        if cursor is None or await self._is_stale(name, schedule, cursor):
            await self._ledger.claim(name, schedule.key, was=cursor, cursor=now)
        elif is_due(schedule.trigger, cursor, now):
            running = len(await self._views.runs(job=name, unfinished=True, limit=1000))
            busy = said_busy(await self._views.holds(), job)
            due = plan(schedule.trigger, cursor, now, job.policy, running=running, busy=busy)
            if name in pauses(await self._ledger.marks(), await self._views.pausing()):
                due = due.skipped(PAUSED)
            if due.catches_up(now, job.policy):
                late = _Late(job, schedule.key, cursor, due)
            else:
                await self._claim(job, schedule.key, cursor, due)
        schedule.begun = True
        return late

    async def _is_stale(self, name: JobName, schedule: _Schedule, cursor: datetime) -> bool:
        """Say whether the job had another schedule, or none, since the cursor was moved: this one begins now."""
        if schedule.begun:
            return False
        if schedule.after:
            return cursor < schedule.after
        newest = await self._ledger.occurrences(name, limit=1)
        return any(row.schedule != schedule.key and row.nominal_at > cursor for row in newest)

    async def _claim(self, job: Job, key: str, cursor: datetime, due: Plan) -> Sequence[RunId]:
        """Write down what is due and open its runs, unless somebody else was first; return what was opened."""
        name = JobName(job.name)
        opened = await self._write(job, key, cursor, due, {})
        if opened is None and await self._ledger.cursor(name, key) == cursor:
            # No other scheduler was first: an instant has its row from when the clock was wrong.
            there = {row.nominal_at: row for row in await self._ledger.occurrences(name, limit=10_000)}
            opened = await self._write(job, key, cursor, due, there)
        return opened or ()

    async def _write(
        self, job: Job, key: str, cursor: datetime, due: Plan, there: Mapping[datetime, Occurrence]
    ) -> Sequence[RunId] | None:
        """Claim what is due, but for the instants that have run; return the runs, None where somebody was first.

        `there` holds the rows that are known to exist.
        """
        items = [item for item in due.due if item.nominal_at not in there or not there[item.nominal_at].run_id]
        opened = {item.nominal_at: await self._opening(job, item.nominal_at) for item in items if item.runs}
        spent = {nominal_at: say_spent(run) for nominal_at, run in opened.items() if day_is_spent(run)}
        runs = {nominal_at: run for nominal_at, run in opened.items() if nominal_at not in spent}
        items = [item.skipped(BUDGET) if item.nominal_at in spent else item for item in items]
        rows = [_row(job, key, item, runs.get(item.nominal_at)) for item in items]
        claimed = await self._ledger.claim(
            JobName(job.name),
            key,
            was=cursor,
            cursor=due.cursor,
            rows=rows,
            runs=list(runs.values()),
            instead_of=[there[row.nominal_at] for row in rows if row.nominal_at in there],
        )
        if not claimed:
            return None
        for row in rows:
            more = f": {spent[row.nominal_at]}" if row.nominal_at in spent else ""
            why = f" ({row.why}{more})" if row.why else ""
            LOG.info("%s for %s: %s%s", row.job, row.nominal_at.isoformat(), row.status, why)
        if runs:
            self._ring()
        return [run.run_id for run in runs.values()]


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
