"""Whatever delays, suspends, kills, edits and pauses there are: every implied instant has exactly one row."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

import pytest

from kova_auto.core.event import RunFinished, RunRequested
from kova_auto.core.ids import JobName, run_id
from kova_auto.core.job import Job, Outcome, ScheduleTable
from kova_auto.core.ledger import Occurrence
from kova_auto.core.pausing import JobMark
from kova_auto.core.schedule.timetable import fates
from kova_auto.scheduling.book import JobBook
from kova_auto.scheduling.catching_up import CatchUp
from kova_auto.scheduling.means import Means, Occasion
from kova_auto.scheduling.scheduler import Scheduler
from kova_auto.scheduling.triggers import ScheduleReading
from kova_auto.store.store import Store, open_store
from tests.doubles.clock import HandClock
from tests.support import a_request

RULES = ("skip", "queue", "buffer_one", "cancel_previous", "allow")
MISSED = ("skip", "latest", "all")


class Life:
    """Be the life of one service and of the people who use it."""

    def __init__(self, directory: Path, store: Store, seed: int, crons: Sequence[str]) -> None:
        self.random, self.directory, self.store, self.crons = Random(seed), directory, store, list(crons)
        self.clock, self.edits = HandClock(), 0
        self.names = [f"job-{number}" for number in range(len(crons))]
        for name in self.names:
            self.write(name)
        self.scheduler = self.born()

    def born(self) -> Scheduler:
        book = JobBook(self.directory, timezone="UTC", endpoints=())
        store = self.store
        means = Means(store.ledger, store.views, store.journal, self.clock, self.opening, lambda: None, lambda _: None)
        gently = CatchUp(at_once=5, spacing=timedelta(seconds=15))
        return Scheduler(book, means, catch_up=gently)

    async def opening(self, job: Job, occasion: Occasion) -> RunRequested:
        key = run_id(JobName(job.name), occasion.nominal_at)
        return a_request(key, job=job, at=self.clock.now(), nominal_at=occasion.nominal_at)

    def write(self, name: str) -> None:
        """Write a job's file anew, with another instant or policy."""
        number, self.edits = self.names.index(name), self.edits + 1
        cron = self.crons[number].replace("MIN", str(self.random.randrange(60))).replace("EDIT", str(self.edits))
        policy = f'missed = "{self.random.choice(MISSED)}"\noverlap = "{self.random.choice(RULES)}"\n'
        text = f'prompt = "{self.edits}"\nschedule = {{ {cron} }}\n[policy]\n{policy}'
        (self.directory / f"{name}.toml").write_text(text)

    async def goes_on(self, until: datetime) -> None:
        """Live until then."""
        while self.clock.instant < until:
            next_at = await self.scheduler.tick()
            await self.happens()
            await self.runs_end()
            late = timedelta(seconds=self.random.choice([0, 0, 1, self.random.uniform(0, 90)]))
            now = self.clock.instant
            self.clock.instant = max(now + timedelta(milliseconds=1), (next_at or until) + late)
        for _ in range(3):
            await self.runs_end(always=True)
            await self.scheduler.tick()
            self.clock.later(20)

    async def happens(self) -> None:
        """Let something happen now and then."""
        what, name = self.random.randrange(100), self.random.choice(self.names)
        if what < 3:
            self.clock.later(self.random.uniform(0, 5) * 3600)
        elif what < 5:
            self.scheduler = self.born()
        elif what < 7:
            self.write(name)
        elif what < 10:
            paused, catch_up = self.random.random() < 0.3, self.random.random() < 0.5
            mark = JobMark(job=JobName(name), at=self.clock.instant, paused=paused, by="ada", catch_up=catch_up)
            await self.store.ledger.mark(mark)

    async def runs_end(self, *, always: bool = False) -> None:
        """Let most of the runs end that go on."""
        for row in await self.store.views.runs(unfinished=True, limit=100):
            if always or self.random.random() < 0.8:
                outcome = self.random.choice([Outcome.DONE, Outcome.FAILED])
                end = RunFinished(at=self.clock.instant, outcome=outcome, answer="Well.")
                await self.store.journal.append(await self.store.journal.load(row.run_id), end)

    async def implied(self, name: str) -> list[datetime]:
        """Return every instant that the job's schedules implied up to where they are accounted for."""
        standing = next(one for one in await self.store.ledger.standings() if one.job == name)
        versions = [*await self.store.ledger.versions(JobName(name))]
        ends = [*(version.begun_at for version in versions[1:]), standing.cursor]
        found: list[datetime] = []
        for version, end in zip(versions, ends, strict=True):
            table = ScheduleTable.model_validate_json(version.body)
            timetable = ScheduleReading(table, first_seen_at=version.begun_at).timetable(name)
            assert timetable is not None
            found += [nominal for nominal, _ in fates(timetable, version.begun_at, end, limit=100_000)]
        return found

    async def rows(self, name: str) -> list[Occurrence]:
        """Return the job's rows, oldest first."""
        return [*await self.store.ledger.occurrences(JobName(name), limit=100_000)][::-1]


def taken(rows: Sequence[Occurrence], instants: Sequence[datetime]) -> Counter[datetime]:
    """Return how many rows stand for each instant."""
    found: Counter[datetime] = Counter()
    for row in rows:
        first, last = bisect_left(instants, row.nominal_at), bisect_right(instants, row.until_at or row.nominal_at)
        stood = instants[first:last]
        assert len(stood) == row.count, row
        found.update(stood)
    return found


async def lives(tmp_path: Path, seed: int, crons: Sequence[str], days: float) -> int:
    """Let a life go by and look at what is left of it; return how many rows that is."""
    store = open_store(tmp_path / "journal.db", create=True)
    directory = tmp_path / "jobs"
    directory.mkdir()
    life, total = Life(directory, store, seed, crons), 0
    await life.goes_on(life.clock.instant + timedelta(days=days))
    for name in life.names:
        rows, instants = await life.rows(name), await life.implied(name)
        assert taken(rows, instants) == Counter(instants)
        ran = [row.run_id for row in rows if row.run_id]
        assert len(ran) == len(set(ran))
        total += len(rows)
    runs = [row.run_id for row in await store.views.runs(limit=100_000)]
    assert len(runs) == len([row for name in life.names for row in await life.rows(name) if row.run_id])
    await store.close()
    return total


DAILY = 'cron = "MIN 8 * * *"'
MINUTELY = 'cron = "* * * * *"'
QUIET = 'cron = "MIN */2 * * *", exclude = { hours = ["22:00-06:00"] }, jitter = "10m"'


@pytest.mark.parametrize("seed", range(3))
async def test_a_month_of_three_jobs(tmp_path: Path, seed: int) -> None:
    assert await lives(tmp_path, seed, [DAILY, QUIET, 'cron = "MIN 7,19 * * *"'], 12) > 60


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
async def test_a_thousand_days_of_seventeen_daily_jobs_a_hundred_at_a_time(tmp_path: Path, seed: int) -> None:
    assert await lives(tmp_path, 100 + seed, [DAILY] * 17, 100) > 500


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(14))
async def test_a_fortnight_of_five_minutely_jobs_a_day_at_a_time(tmp_path: Path, seed: int) -> None:
    assert await lives(tmp_path, 200 + seed, [MINUTELY] * 5, 1) > 500
