"""Two services on one PostgreSQL database: each instant is claimed once, and each run is opened once."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import timedelta
from pathlib import Path

from kova_auto.core.event import RunFinished, RunRequested
from kova_auto.core.ids import JobName, run_id
from kova_auto.core.job import Job, Outcome
from kova_auto.scheduling.book import JobBook
from kova_auto.scheduling.catching_up import CatchUp
from kova_auto.scheduling.means import Means, Occasion
from kova_auto.scheduling.scheduler import Scheduler
from kova_auto.store.store import Store, open_store
from tests.doubles.clock import HandClock
from tests.postgres import PostgresServer
from tests.support import a_request, at

EVERY_MINUTE = 'prompt = "Look."\nschedule.cron = "* * * * *"\n[policy]\noverlap = "allow"\nmax_parallel = 100\n'


class Service:
    """Be the scheduling of one process, with connections of its own."""

    def __init__(self, url: str, directory: Path, clock: HandClock) -> None:
        self.store: Store = open_store(url, create=True)
        self.clock, self.rung = clock, 0
        book = JobBook(directory, timezone="UTC", endpoints=())
        store = self.store
        means = Means(store.ledger, store.views, store.journal, clock, self.opening, self.ring, lambda _: None)
        self.scheduler = Scheduler(book, means, catch_up=CatchUp())

    async def opening(self, job: Job, occasion: Occasion) -> RunRequested:
        nominal_at = occasion.nominal_at
        return a_request(run_id(JobName(job.name), nominal_at), job=job, at=self.clock.now(), nominal_at=nominal_at)

    def ring(self) -> None:
        self.rung += 1


async def test_every_instant_is_claimed_by_one_of_them(tmp_path: Path, postgres: PostgresServer) -> None:
    url, clock = postgres.new_database(), HandClock()
    names = [f"job-{number}" for number in range(6)]
    for name in names:
        (tmp_path / f"{name}.toml").write_text(EVERY_MINUTE)
    services = [Service(url, tmp_path, clock) for _ in range(2)]
    for _ in range(10):
        await asyncio.gather(*(service.scheduler.tick() for service in services for _ in range(2)))
        clock.later(60)

    ledger, views = services[0].store.ledger, services[1].store.views
    rows, runs = await ledger.occurrences(limit=1000), await views.runs(limit=1000)
    minutes = [at("06:01:00") + timedelta(minutes=number) for number in range(9)]
    assert Counter((row.job, row.nominal_at, row.status) for row in rows) == Counter(
        (name, minute, "ran") for name in names for minute in minutes
    )
    assert {row.run_id for row in rows} == {run.run_id for run in runs}
    assert len(runs) == len(names) * len(minutes) == sum(service.rung for service in services)
    for service in services:
        await service.store.close()


async def test_one_of_them_may_end_and_the_other_misses_nothing(tmp_path: Path, postgres: PostgresServer) -> None:
    url, clock = postgres.new_database(), HandClock()
    (tmp_path / "job.toml").write_text(EVERY_MINUTE.partition("[policy]")[0])
    one, two = Service(url, tmp_path, clock), Service(url, tmp_path, clock)
    await one.scheduler.tick()
    clock.later(60)
    await one.scheduler.tick()
    await one.store.close()
    await two.store.journal.append(
        await two.store.journal.load(run_id(JobName("job"), at("06:01:00"))),
        RunFinished(at=clock.now(), outcome=Outcome.DONE, answer="Well."),
    )
    clock.later(60)
    await two.scheduler.tick()

    rows = await two.store.ledger.occurrences()
    assert [(row.nominal_at, row.status) for row in reversed(rows)] == [
        (at("06:01:00"), "ran"),
        (at("06:02:00"), "ran"),
    ]
    await two.store.close()
