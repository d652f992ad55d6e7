"""A service that is killed between any two statements by which a job becomes late: it is told once, and never lost."""

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

JOB = """\
prompt = "Look."
schedule.cron = "0 * * * *"
policy.expect_within = "5m"
[[notify]]
endpoint = "ci"
[[notify]]
endpoint = "ops"
"""
STATEMENTS = 17
"""So many the writer has from the start to the mark of what is late, and its close; `test_that_is_all_of_them`."""


def killed(directory: Path, kill_at: int) -> bool:
    """Make passes when the job is late, in a process that is killed before a statement; say whether it came to that."""
    command = [sys.executable, "-m", "tests.crash.claimer", str(directory), "07:10:00", str(kill_at)]
    ended = subprocess.run(command, cwd=ROOT, check=False, timeout=120).returncode
    assert ended in {0, -signal.SIGKILL}
    return ended != 0


async def found(directory: Path) -> tuple[list[bool], list[str]]:
    """Return which rows are late, and what endpoints are owed."""
    store = open_store(directory / "journal.db", create=False)
    rows = await store.ledger.occurrences(JobName("job"))
    owed = await store.views.deliveries()
    differences = await store.compare_views()
    await store.close()
    assert differences == []
    return [row.late_at is not None for row in rows], sorted(f"{row.run_id} {row.endpoint}" for row in owed)


async def a_run_that_has_not_ended(directory: Path) -> Path:
    """Have a job whose run of seven o'clock is under way."""
    (directory / "jobs").mkdir(parents=True)
    (directory / "jobs" / "job.toml").write_text(JOB)
    for clock in ("06:30:00", "07:00:00"):
        await passes(directory, clock, 0)
    return directory


TOLD = ([True], ["job@20261201T070000Z/late ci", "job@20261201T070000Z/late ops"])


@pytest.mark.slow
@pytest.mark.parametrize("kill_at", range(1, STATEMENTS + 1))
async def test_it_is_told_once_whenever_the_service_dies(tmp_path: Path, kill_at: int) -> None:
    directory = await a_run_that_has_not_ended(tmp_path)
    assert killed(directory, kill_at)
    late, owed = await found(directory)
    assert (late, owed) in (TOLD, ([False], []))

    await passes(directory, "07:10:20", 0)
    assert await found(directory) == TOLD


@pytest.mark.slow
async def test_that_is_all_of_them(tmp_path: Path) -> None:
    directory = await a_run_that_has_not_ended(tmp_path)

    assert not killed(directory, STATEMENTS + 1)
    assert await found(directory) == TOLD
