"""A service that is killed between any two statements of a claim: the next one finds it whole, or not begun."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kova_auto.core.ids import JobName
from kova_auto.store.store import open_store
from tests.crash.claimer import passes
from tests.support import ROOT

JOB = 'prompt = "Look."\nschedule.cron = "0 * * * *"\npolicy.overlap = "OVERLAP"\n'
STATEMENTS = 16
"""So many the writer has from the start to the claim of what is due, and its close; `test_that_is_all_of_them`."""


def killed(directory: Path, kill_at: int) -> bool:
    """Make passes when the job is due, in a process that is killed before a statement; say whether it came to that."""
    command = [sys.executable, "-m", "tests.crash.claimer", str(directory), "07:00:00", str(kill_at)]
    ended = subprocess.run(command, cwd=ROOT, check=False, timeout=120).returncode
    assert ended in {0, -signal.SIGKILL}
    return ended != 0


async def found(directory: Path) -> tuple[list[str], list[str]]:
    """Return the rows and the runs."""
    store = open_store(directory / "journal.db", create=False)
    rows = await store.ledger.occurrences(JobName("job"))
    runs = await store.views.runs()
    await store.close()
    written = [f"{row.nominal_at:%H} {row.status} {row.run_id}" for row in reversed(rows)]
    return written, sorted(run.run_id for run in runs)


async def written(directory: Path, overlap: str) -> Path:
    """Have a job that was seen at half past six."""
    (directory / "jobs").mkdir(parents=True)
    (directory / "jobs" / "job.toml").write_text(JOB.replace("OVERLAP", overlap))
    await passes(directory, "06:30:00", 0)
    return directory


@pytest.mark.slow
@pytest.mark.parametrize("kill_at", range(1, STATEMENTS + 1))
async def test_there_are_never_two_runs_and_never_none(tmp_path: Path, kill_at: int) -> None:
    directory = await written(tmp_path, "queue")
    assert killed(directory, kill_at)

    await passes(directory, "07:00:20", 0)
    assert await found(directory) == (["07 ran job@20261201T070000Z"], ["job@20261201T070000Z"])


@pytest.mark.slow
async def test_that_is_all_of_them(tmp_path: Path) -> None:
    directory = await written(tmp_path, "allow")

    assert not killed(directory, STATEMENTS + 1)
    assert await found(directory) == (["07 ran job@20261201T070000Z"], ["job@20261201T070000Z"])
