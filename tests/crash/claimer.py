"""Be a service that makes two passes at an instant, and kill it before one of the statements of its writer."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from kova_auto.core.event import RunRequested
from kova_auto.core.ids import JobName, run_id
from kova_auto.core.job import Job
from kova_auto.scheduling.book import JobBook
from kova_auto.scheduling.catching_up import CatchUp
from kova_auto.scheduling.means import Means, Occasion
from kova_auto.scheduling.scheduler import Scheduler
from kova_auto.store.prepared import driver_of
from kova_auto.store.store import open_store
from tests.doubles.clock import HandClock
from tests.support import a_request, at


class Dying:
    """Count what a connection is about to do, and die before the one that is named."""

    def __init__(self, kill_at: int) -> None:
        self.kill_at, self.passed = kill_at, 0

    def __call__(self, statement: str) -> None:
        self.passed += 1
        if self.passed == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)


async def passes(directory: Path, clock: str, kill_at: int) -> int:
    """Make two passes; 0 lives. Returns how many statements the writer was given."""
    store, hand = open_store(directory / "journal.db", create=True), HandClock(at(clock))

    async def opening(job: Job, occasion: Occasion) -> RunRequested:
        key = run_id(JobName(job.name), occasion.nominal_at)
        return a_request(key, job=job, at=hand.now(), nominal_at=occasion.nominal_at)

    means = Means(store.ledger, store.views, store.journal, hand, opening, lambda: None, lambda _: None)
    book = JobBook(directory / "jobs", timezone="UTC", endpoints=("ci", "ops"))
    scheduler = Scheduler(book, means, catch_up=CatchUp())
    dying = Dying(kill_at)
    await store.database.write(lambda connection: driver_of(connection).set_trace_callback(dying))
    for _ in range(2):
        await scheduler.tick()
    await store.close()
    return dying.passed


if __name__ == "__main__":
    asyncio.run(passes(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
