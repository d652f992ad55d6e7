"""A service that is killed between any two statements of a claim: the next one finds it whole, or not begun."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kova_auto.core.ids import JobName
from kova_auto.store.store import open_store
from tests.support import ROOT

JOB = 'prompt = "Look."\nschedule.cron = "0 * * * *"\npolicy.overlap = "OVERLAP"\n'
MOST = 60


def plays(directory: Path, clock: str, kill_at: int) -> int:
    """Make passes at an instant in a process that kills itself before a statement; return how it ended."""
    command = [sys.executable, "-m", "tests.crash.claimer", str(directory), clock, str(kill_at)]
    return subprocess.run(command, cwd=ROOT, check=False, timeout=60).returncode


async def found(directory: Path) -> tuple[list[str], list[str]]:
    """Return the rows and the runs."""
    store = open_store(directory / "journal.db", create=False)
    rows = await store.ledger.occurrences(JobName("job"))
    runs = await store.views.runs()
    await store.close()
    return [f"{row.nominal_at:%H} {row.status} {row.run_id}" for row in reversed(rows)], sorted(
        run.run_id for run in runs
    )


@pytest.mark.slow
@pytest.mark.parametrize("overlap", ["allow", "queue"])
async def test_there_are_never_two_runs_and_never_none(tmp_path: Path, overlap: str) -> None:
    for kill_at in range(1, MOST):
        directory = tmp_path / str(kill_at)
        (directory / "jobs").mkdir(parents=True)
        (directory / "jobs" / "job.toml").write_text(JOB.replace("OVERLAP", overlap))
        assert plays(directory, "06:30:00", 0) == 0
        ended = plays(directory, "07:00:00", kill_at)
        assert plays(directory, "07:00:20", 0) == 0
        whole = ["07 ran job@20261201T070000Z"], ["job@20261201T070000Z"]
        assert await found(directory) == whole, f"killed before statement {kill_at}"
        if ended == 0:  # It has fewer statements than that.
            break
        assert ended == -signal.SIGKILL
    assert 8 < kill_at < MOST - 1
