"""Job files and one ledger, with schedulers that share them and a clock that is moved by hand."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from kova_auto.core.errors import ConfigError
from kova_auto.core.event import RunAcquired, RunFinished, RunRequested
from kova_auto.core.ids import JobName, RunId, run_id
from kova_auto.core.job import Job, Outcome
from kova_auto.core.ledger import Occurrence
from kova_auto.core.pausing import JobMark
from kova_auto.scheduling.book import JobBook
from kova_auto.scheduling.catching_up import CatchUp
from kova_auto.scheduling.means import Means, Occasion
from kova_auto.scheduling.scheduler import Scheduler
from tests.doubles.clock import HandClock
from tests.doubles.journal import MemoryJournal
from tests.support import a_request, at

NIGHTLY = JobName("nightly")
HOURLY = 'prompt = "Look."\nschedule.cron = "0 * * * *"\n'
HALF_HOURLY = 'prompt = "Look."\nschedule.cron = "0,30 * * * *"\n'


@dataclass
class Desk:
    """Hold job files and one ledger, and make schedulers that share them."""

    directory: Path
    clock: HandClock = field(default_factory=HandClock)
    journal: MemoryJournal = field(default_factory=MemoryJournal)
    rung: int = 0
    asked: list[RunId] = field(default_factory=list)
    writes: int = 0
    broken: set[str] = field(default_factory=set)
    shattered: set[str] = field(default_factory=set)
    spent: dict[str, float] = field(default_factory=dict)
    catch_up: CatchUp = field(default_factory=CatchUp)

    def write(self, text: str = HOURLY, name: str = "nightly") -> None:
        self.writes += 1
        path = self.directory / f"{name}.toml"
        path.write_text(text)
        os.utime(path, ns=(self.writes * 10**9,) * 2)  # Files that people edit differ in time.

    def scheduler(self, kind: type[JobBook] = JobBook) -> Scheduler:
        book = kind(self.directory, timezone="UTC", endpoints=("ci", "ops"))
        memory = self.journal
        means = Means(memory, memory, memory, self.clock, self.opening, self.ring, self.asked.append)
        return Scheduler(book, means, catch_up=self.catch_up)

    async def opening(self, job: Job, occasion: Occasion) -> RunRequested:
        if job.name in self.broken:
            message = "no model"
            raise ConfigError(message)
        if job.name in self.shattered:
            raise ZeroDivisionError
        instants = {"nominal_at": occasion.nominal_at, "due_at": occasion.due_at, "inputs": dict(occasion.given)}
        known = {"at": self.clock.now(), "day_spent_usd": self.spent.get(job.name, 0.0)}
        return a_request(run_id(JobName(job.name), occasion.nominal_at), job=job, **instants, **known)

    def ring(self) -> None:
        self.rung += 1

    async def rows(self, name: str = NIGHTLY) -> list[str]:
        found = await self.journal.occurrences(JobName(name))
        return [summary(row) for row in reversed(found)]

    async def runs(self) -> list[str]:
        return [row.run_id for row in reversed(await self.journal.runs())]

    async def begin(self, clock: str, name: str = NIGHTLY) -> None:
        """Have a worker take the run of an instant."""
        state = await self.journal.load(run_id(JobName(name), at(clock)))
        await self.journal.append(state, RunAcquired(at=self.clock.now(), epoch=state.epoch + 1, worker="one"))

    async def finish(
        self, clock: str, name: str = NIGHTLY, *, pauses: str = "", outcome: Outcome = Outcome.DONE
    ) -> None:
        state = await self.journal.load(run_id(JobName(name), at(clock)))
        end = RunFinished(at=self.clock.now(), outcome=outcome, answer="Well.", pauses=pauses)
        await self.journal.append(state, end)

    async def mark(self, clock: str, *, paused: bool, catch_up: bool = False) -> None:
        await self.journal.mark(JobMark(job=NIGHTLY, at=at(clock), paused=paused, by="ada", catch_up=catch_up))


def summary(row: Occurrence) -> str:
    """Return a row in a few words."""
    count = f" x{row.count}" if row.count > 1 else ""
    return f"{row.nominal_at:%H:%M} {row.status}{count}" + (f" ({row.why})" if row.why else "")


async def at_each(desk: Desk, scheduler: Scheduler, *clocks: str) -> None:
    """Make a pass at each of these times."""
    for clock in clocks:
        later = at(clock) - desk.clock.instant
        desk.clock.instant, desk.clock.awake_s = at(clock), desk.clock.awake_s + later.total_seconds()
        await scheduler.tick()
