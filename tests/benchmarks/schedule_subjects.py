"""Schedulers with many jobs, each in a process of its own: what it takes to load them, and to start what is due.

Called as `python -m tests.benchmarks.schedule_subjects NAME MANY BURST PATIENCE_S`; answers with one line of JSON.

APScheduler is driven as its own scheduler drives it, with its trigger, one of its stores and its executor, and only the
clock is ours. Its persistent store commits each job by itself, and is given up after PATIENCE_S: `jobs` says how many
it holds.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from apscheduler.executors.asyncio import AsyncIOExecutor
from apscheduler.job import Job as TheirJob
from apscheduler.jobstores.memory import MemoryJobStore
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.cron import CronTrigger

from kova_auto.core.event import RunRequested
from kova_auto.core.ids import JobName, run_id
from kova_auto.core.job import Job
from kova_auto.core.schedule.occurrences import plan
from kova_auto.scheduling.book import JobBook
from kova_auto.scheduling.catching_up import CatchUp
from kova_auto.scheduling.means import Means, Occasion
from kova_auto.scheduling.roster import Roster
from kova_auto.scheduling.scheduler import Scheduler
from kova_auto.store.store import open_store
from tests.doubles.clock import HandClock
from tests.support import a_job, a_request, at

IDLE_PASSES = 20
SIX, SEVEN = at("06:00:00"), at("07:00:00")


@dataclass(frozen=True)
class Cost:
    """Hold what it took: processor time in seconds, memory in bytes, lateness in seconds by the clock.

    Attributes:
        jobs: So many were loaded.
        load_s: All of them.
        idle_s: One pass at which nothing is due.
        due_s: Each job that is due.
        first_s: From the pass to the first start.
        last_s: To the last.
    """

    jobs: int
    load_s: float
    memory: int
    idle_s: float
    due_s: float
    first_s: float
    last_s: float


class Jobs(JobBook):
    """Be a book whose jobs never were files: reading ten thousand of them is another matter."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        super().__init__(Path("/"), timezone="UTC", endpoints=())
        self._all, self._is_told = list(jobs), False

    @property
    def jobs(self) -> list[Job]:
        return self._all

    def refresh(self) -> bool:
        told, self._is_told = self._is_told, True
        return not told


class Stopwatch:
    """Measure processor time, memory and starts."""

    def __init__(self) -> None:
        gc.collect()
        self.starts: list[float] = []
        self.begin()

    def begin(self) -> None:
        self._cpu, self._wall, self._memory = time.process_time(), time.perf_counter(), resident()
        self.starts.clear()

    def started(self) -> None:
        self.starts.append(time.perf_counter() - self._wall)

    @property
    def spent_s(self) -> float:
        return time.process_time() - self._cpu

    @property
    def passed_s(self) -> float:
        return time.perf_counter() - self._wall

    @property
    def grown(self) -> int:
        gc.collect()
        return resident() - self._memory


def resident() -> int:
    """Return how many bytes of memory this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def jobs_of(many: int, burst: int) -> list[Job]:
    """Return some jobs that are all due at seven, and daily ones from eight on."""
    due = [a_job(f"burst-{number}", schedule={"cron": "0 7 * * *"}) for number in range(burst)]
    crons = (f"{number % 60} {8 + number // 60 % 16} * * *" for number in range(many))
    return due + [a_job(f"job-{number}", schedule={"cron": cron}) for number, cron in enumerate(crons)]


async def ours(directory: Path, many: int, burst: int) -> Cost:
    """Measure our scheduler on SQLite: each due job leaves a row, a run and its first fact, all on the disk."""
    clock, store = HandClock(SIX), open_store(directory / "journal.db", create=True)
    book, watch = Jobs(jobs_of(many, burst)), Stopwatch()

    async def opening(job: Job, occasion: Occasion) -> RunRequested:
        key = run_id(JobName(job.name), occasion.nominal_at)
        return a_request(key, job=job, at=clock.now(), nominal_at=occasion.nominal_at)

    means = Means(store.ledger, store.views, store.journal, clock, opening, watch.started, lambda _: None)
    scheduler = Scheduler(book, means, catch_up=CatchUp())
    await scheduler.tick()
    load_s, memory = watch.spent_s, watch.grown
    watch.begin()
    for _ in range(IDLE_PASSES):
        await scheduler.tick()
    idle_s = watch.spent_s / IDLE_PASSES
    clock.later((SEVEN - SIX).total_seconds())
    watch.begin()
    await scheduler.tick()
    due_s = watch.spent_s / burst
    assert len(await store.ledger.occurrences(limit=10 * burst)) == len(watch.starts) == burst
    await store.close()
    return Cost(many + burst, load_s, memory, idle_s, due_s, watch.starts[0], watch.starts[-1])


async def decides(directory: Path, many: int, burst: int) -> Cost:
    """Measure only what ours decides in memory: which job is due, what becomes of it, and when it is due next."""
    store = open_store(directory / "journal.db", create=True)
    book, watch = Jobs(jobs_of(many, burst)), Stopwatch()
    roster = Roster(book, store.ledger)
    await roster.refresh(SIX)
    load_s, memory = watch.spent_s, watch.grown
    watch.begin()
    for _ in range(IDLE_PASSES):
        assert not list(roster.take(SIX))
        roster.next_at()
    idle_s = watch.spent_s / IDLE_PASSES
    watch.begin()
    for scheduled in roster.take(SEVEN):
        found = plan(scheduled.timetable, scheduled.cursor, SEVEN, scheduled.job.policy)
        watch.started()
        scheduled.cursor = found.cursor
        roster.put(scheduled)
    due_s = watch.spent_s / burst
    assert len(watch.starts) == burst
    await store.close()
    return Cost(many + burst, load_s, memory, idle_s, due_s, watch.starts[0], watch.starts[-1])


WATCH = Stopwatch()


async def start() -> None:
    """Be what APScheduler starts."""
    WATCH.started()


async def theirs(store: Any, many: int, burst: int, patience_s: float) -> Cost:  # noqa: ANN401  # one of their stores
    """Measure APScheduler's own trigger with one of its stores."""
    scheduler, executor = AsyncIOScheduler(timezone=UTC, event_loop=asyncio.get_running_loop()), AsyncIOExecutor()
    scheduler._eventloop = asyncio.get_running_loop()
    executor.start(scheduler, "default")
    store.start(scheduler, "default")
    jobs = jobs_of(many, burst)
    WATCH.begin()
    loaded = 0
    for job in jobs:
        store.add_job(_their(scheduler, job))
        loaded += 1
        if loaded >= burst and WATCH.passed_s > patience_s:
            break
    load_s, memory = WATCH.spent_s, WATCH.grown
    WATCH.begin()
    for _ in range(IDLE_PASSES):
        assert not list(store.get_due_jobs(SIX))
        store.get_next_run_time()
    idle_s = WATCH.spent_s / IDLE_PASSES
    WATCH.begin()
    for due in store.get_due_jobs(SEVEN):
        times = due._get_run_times(SEVEN)[-1:]
        executor.submit_job(due, times)
        due._modify(next_run_time=due.trigger.get_next_fire_time(times[-1], SEVEN))
        store.update_job(due)
    await asyncio.gather(*executor._pending_futures)
    due_s = WATCH.spent_s / burst
    assert len(WATCH.starts) == burst
    store.shutdown()
    return Cost(loaded, load_s, memory, idle_s, due_s, WATCH.starts[0], WATCH.starts[-1])


def _their(scheduler: AsyncIOScheduler, job: Job) -> TheirJob:
    assert job.schedule is not None
    trigger = CronTrigger.from_crontab(job.schedule.cron, timezone=UTC)
    return TheirJob(
        scheduler,
        id=job.name,
        name=job.name,
        trigger=trigger,
        executor="default",
        func="tests.benchmarks.schedule_subjects:start",
        args=(),
        kwargs={},
        misfire_grace_time=None,
        coalesce=True,
        max_instances=1,
        next_run_time=trigger.get_next_fire_time(None, SIX),
    )


async def measured(name: str, many: int, burst: int, patience_s: float) -> Cost:
    """Measure one of them."""
    with TemporaryDirectory() as directory:
        match name:
            case "ours":
                return await ours(Path(directory), many, burst)
            case "decides":
                return await decides(Path(directory), many, burst)
            case "memory":
                return await theirs(MemoryJobStore(), many, burst, inf)
            case _:
                store = SQLAlchemyJobStore(f"sqlite:///{directory}/jobs.db")
                return await theirs(store, many, burst, patience_s)


if __name__ == "__main__":
    # What is started is found by the name of this module, which is not the one that runs.
    from tests.benchmarks import schedule_subjects

    logging.disable(logging.WARNING)
    subject, *numbers = sys.argv[1:]
    print(json.dumps(asdict(asyncio.run(schedule_subjects.measured(subject, *map(int, numbers))))))
