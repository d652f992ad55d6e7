"""Be the scheduling of one process: make a pass at each instant that a line names, and say how many runs were opened.

Called as `python -m tests.scheduling.rival DATABASE JOBS`; DATABASE is a file or a URL.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from kova_auto.core.event import RunRequested
from kova_auto.core.ids import JobName, run_id
from kova_auto.core.job import Job
from kova_auto.scheduling.book import JobBook
from kova_auto.scheduling.catching_up import CatchUp
from kova_auto.scheduling.means import Means, Occasion
from kova_auto.scheduling.scheduler import Scheduler
from kova_auto.store.store import Store, open_store
from tests.doubles.clock import HandClock
from tests.support import a_request, at


class Rival:
    """Be the scheduling of one process, with connections of its own."""

    def __init__(self, database: str | Path, directory: Path, clock: HandClock) -> None:
        self.store: Store = open_store(database, create=True)
        self.clock, self.rung = clock, 0
        book, store = JobBook(directory, timezone="UTC", endpoints=()), self.store
        means = Means(store.ledger, store.views, store.journal, clock, self.opening, self.ring, lambda _: None)
        self.scheduler = Scheduler(book, means, catch_up=CatchUp())

    async def opening(self, job: Job, occasion: Occasion) -> RunRequested:
        nominal_at = occasion.nominal_at
        return a_request(run_id(JobName(job.name), nominal_at), job=job, at=self.clock.now(), nominal_at=nominal_at)

    def ring(self) -> None:
        self.rung += 1


async def passes(database: str | Path, directory: Path) -> None:
    """Make the passes."""
    rival = Rival(database, directory, HandClock())
    for line in sys.stdin:
        rival.clock.later((at(line.strip()) - rival.clock.instant).total_seconds())
        await rival.scheduler.tick()
        print(rival.rung, flush=True)
    await rival.store.close()


if __name__ == "__main__":
    asyncio.run(passes(sys.argv[1] if "://" in sys.argv[1] else Path(sys.argv[1]), Path(sys.argv[2])))
