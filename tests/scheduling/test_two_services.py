"""Two services on one database: each instant is claimed once, and each run is opened once.

On PostgreSQL that is allowed. A SQLite file has one owner, and whoever comes second is told who that is
(`tests/store/test_owner.py`) or asks it by its socket (`tests/e2e/test_processes.py`); should two write to one file all
the same, its rows still part them.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from kova_auto.core.event import RunFinished
from kova_auto.core.ids import JobName, run_id
from kova_auto.core.job import Outcome
from kova_auto.core.ledger import OccurrenceStatus
from kova_auto.store.store import Store, open_store
from tests.doubles.clock import HandClock
from tests.postgres import PostgresServer
from tests.scheduling.rival import Rival
from tests.support import ROOT, at

EVERY_MINUTE = 'prompt = "Look."\nschedule.cron = "* * * * *"\n[policy]\noverlap = "allow"\nmax_parallel = 100\n'
NAMES = [f"job-{number}" for number in range(6)]
MINUTES = [at("06:01:00") + timedelta(minutes=number) for number in range(9)]


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str | Path:
    """Give a database that nobody has opened."""
    if request.param == "sqlite":
        return tmp_path / "journal.db"
    postgres: PostgresServer = request.getfixturevalue("postgres")
    return postgres.new_database()


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    """Give six jobs that are due each minute."""
    directory = tmp_path / "jobs"
    directory.mkdir()
    for name in NAMES:
        (directory / f"{name}.toml").write_text(EVERY_MINUTE)
    return directory


async def is_all_there_once(store: Store) -> int:
    """Look at what was written; return how many runs that is."""
    rows, runs = await store.ledger.occurrences(limit=1000), await store.views.runs(limit=1000)
    assert Counter((row.job, row.nominal_at, row.status) for row in rows) == Counter(
        (JobName(name), minute, OccurrenceStatus.RAN) for name in NAMES for minute in MINUTES
    )
    assert {row.run_id for row in rows} == {run.run_id for run in runs}
    assert len(runs) == len(NAMES) * len(MINUTES)
    return len(runs)


async def test_every_instant_is_claimed_by_one_of_two_schedulers(database: str | Path, jobs: Path) -> None:
    clock = HandClock()
    rivals = [Rival(database, jobs, clock) for _ in range(2)]
    for _ in range(10):
        await asyncio.gather(*(rival.scheduler.tick() for rival in rivals for _ in range(2)))
        clock.later(60)

    assert await is_all_there_once(rivals[0].store) == sum(rival.rung for rival in rivals)
    for rival in rivals:
        await rival.store.close()


async def test_every_instant_is_claimed_by_one_of_two_processes(database: str | Path, jobs: Path) -> None:
    clocks = [at("06:00:00"), *(minute for minute in MINUTES for _ in range(2))]
    with processes(database, jobs) as (one, two):
        said = [(asked(one, two, f"{clock:%H:%M:%S}")) for clock in clocks]
    store = open_store(database, create=False)

    assert await is_all_there_once(store) == sum(said[-1])
    assert all(before <= after for before, after in pairwise(said))
    await store.close()


@contextmanager
def processes(database: str | Path, jobs: Path) -> Iterator[tuple[subprocess.Popen[str], ...]]:
    """Have two that schedule the same jobs, until the block ends."""
    argv = [sys.executable, "-m", "tests.scheduling.rival", str(database), str(jobs)]
    pipe = subprocess.PIPE
    both = [subprocess.Popen(argv, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) for _ in range(2)]
    try:
        yield tuple(both)
    finally:
        for process in both:
            process.communicate(timeout=60)
    assert [process.returncode for process in both] == [0, 0]


def asked(one: subprocess.Popen[str], two: subprocess.Popen[str], clock: str) -> tuple[int, int]:
    """Have both make a pass at the same time; return how many runs each has opened so far."""
    for process in (one, two):
        assert process.stdin
        process.stdin.write(f"{clock}\n")
        process.stdin.flush()
    answers = [process.stdout.readline() for process in (one, two) if process.stdout]
    return int(answers[0]), int(answers[1])


async def test_two_that_start_in_the_same_second_both_begin(
    database: str | Path, jobs: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = HandClock()
    rivals = [Rival(database, jobs, clock) for _ in range(2)]
    for _ in range(20):
        await asyncio.gather(*(rival.store.ledger.started(clock.now()) for rival in rivals))
        clock.later(1)
    looks = await asyncio.gather(*(rival.scheduler.tick() for rival in rivals))

    assert looks == [at("06:01:00"), at("06:01:00")]
    assert [line for line in caplog.messages if "waits" in line] == []
    for rival in rivals:
        await rival.store.close()


async def test_one_of_two_may_end_and_the_other_misses_nothing(tmp_path: Path, postgres: PostgresServer) -> None:
    url, clock = postgres.new_database(), HandClock()
    (tmp_path / "job.toml").write_text(EVERY_MINUTE.partition("[policy]")[0])
    one, two = Rival(url, tmp_path, clock), Rival(url, tmp_path, clock)
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
