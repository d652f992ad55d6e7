"""What many schedules cost, beside APScheduler with its own trigger and store; run with `pytest -n0 -s -m bench`.

The jobs are in memory, so that only the scheduling is measured: reading ten thousand files is another matter.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from apscheduler.jobstores.memory import MemoryJobStore
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.cron import CronTrigger

from kova_auto.core.event import RunRequested
from kova_auto.core.ids import JobName, run_id
from kova_auto.core.job import Job
from kova_auto.scheduling.book import JobBook
from kova_auto.scheduling.catching_up import CatchUp
from kova_auto.scheduling.means import Means, Occasion
from kova_auto.scheduling.scheduler import Scheduler
from kova_auto.store.store import open_store
from tests.doubles.clock import HandClock
from tests.support import a_job, a_request, at

pytestmark = pytest.mark.bench


class Jobs(JobBook):
    """Be a book whose jobs never were files."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        super().__init__(Path("/"), timezone="UTC", endpoints=())
        self._all, self._is_told = list(jobs), False

    @property
    def jobs(self) -> list[Job]:
        return self._all

    def refresh(self) -> bool:
        told, self._is_told = self._is_told, True
        return not told


@dataclass
class Opened:
    """Remember when runs were opened."""

    at_s: list[float] = field(default_factory=list)
    clock: HandClock = field(default_factory=HandClock)

    async def __call__(self, job: Job, occasion: Occasion) -> RunRequested:
        self.at_s.append(time.perf_counter())
        return a_request(run_id(JobName(job.name), occasion.nominal_at), job=job, at=self.clock.now())


def daily(number: int) -> str:
    """Return a daily expression of its own, from eight on."""
    return f"{number % 60} {8 + number // 60 % 16} * * *"


def resident() -> int:
    """Return how many bytes of memory this process has."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def jobs_of(many: int, burst: int) -> list[Job]:
    """Return daily jobs, and some that are all due at seven."""
    found = [a_job(f"job-{number}", schedule={"cron": daily(number)}) for number in range(many)]
    return found + [a_job(f"burst-{number}", schedule={"cron": "0 7 * * *"}) for number in range(burst)]


async def ours(directory: Path, many: int, burst: int) -> dict[str, float]:
    """Return seconds and bytes of our scheduler on SQLite."""
    store, opened = open_store(directory / "journal.db", create=True), Opened()
    means = Means(store.ledger, store.views, store.journal, opened.clock, opened, lambda: None, lambda _: None)
    scheduler = Scheduler(Jobs(jobs_of(many, burst)), means, catch_up=CatchUp())
    began, before = time.process_time(), resident()
    await scheduler.tick()
    load, memory = time.process_time() - began, resident() - before
    began = time.process_time()
    for _ in range(20):
        await scheduler.tick()
    idle = (time.process_time() - began) / 20
    opened.clock.instant = at("07:00:00")
    began, wall = time.process_time(), time.perf_counter()
    await scheduler.tick()
    due, first, last = time.process_time() - began, opened.at_s[0] - wall, opened.at_s[-1] - wall
    rows = await store.ledger.occurrences(limit=10 * burst)
    assert len(rows) == len(opened.at_s) == burst
    await store.close()
    return {"load": load, "memory": memory, "idle": idle, "due": due / burst, "first": first, "last": last}


def theirs(many: int, burst: int) -> dict[str, float]:
    """Return the same of APScheduler's own trigger and memory store, driven as its scheduler drives them."""
    began_at = datetime(2026, 12, 1, 6, tzinfo=UTC)
    scheduler, store = AsyncIOScheduler(timezone=UTC), MemoryJobStore()
    jobs = jobs_of(many, burst)
    began, before = time.process_time(), resident()
    for job in jobs:
        assert job.schedule is not None
        assert isinstance(job.schedule.cron, str)
        trigger = CronTrigger.from_crontab(job.schedule.cron, timezone=UTC)
        found = scheduler.add_job(print, trigger, id=job.name)
        found._modify(next_run_time=trigger.get_next_fire_time(None, began_at))
        store.add_job(found)
    load, memory = time.process_time() - began, resident() - before
    seven, began, wall = began_at + timedelta(hours=1), time.process_time(), time.perf_counter()
    starts: list[float] = []
    for found in store.get_due_jobs(seven):
        (run_at,) = found._get_run_times(seven)
        starts.append(time.perf_counter())
        found._modify(next_run_time=found.trigger.get_next_fire_time(run_at, seven))
        store.update_job(found)
    assert len(starts) == burst
    ended = time.perf_counter()
    due = (time.process_time() - began) / burst
    return {"load": load, "memory": memory, "due": due, "first": ended - wall, "last": ended - wall}


@pytest.mark.parametrize(("many", "burst"), [(9_000, 1_000), (99_000, 1_000)])
def test_many_schedules_cost_little(tmp_path: Path, many: int, burst: int) -> None:
    logging.disable(logging.INFO)
    mine, other = asyncio.run(ours(tmp_path, many, burst)), theirs(many, burst)
    logging.disable(logging.NOTSET)
    print(f"\n{many + burst} jobs, {burst} of them due in one second; ours on SQLite against APScheduler in memory")
    for name, value in mine.items():
        unit = f"{value / 1e6:.1f} MB" if name == "memory" else f"{value * 1e3:.2f} ms"
        print(f"  {name:7} {unit:>14}  ratio {value / other[name]:.2f}" if name in other else f"  {name:7} {unit:>14}")
    assert mine["idle"] < 0.05, "a pass at which nothing is due asks the database only a few times"
    assert mine["first"] < mine["last"] / 10, "the first run does not wait for the last"
