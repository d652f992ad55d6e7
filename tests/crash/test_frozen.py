"""A worker that is frozen, taken over and woken changes nothing: the lease and the epoch at work, on PostgreSQL."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

from sqlalchemy import create_engine

from kova_auto.core.event import RunAcquired, load
from kova_auto.core.message import ResultStatus
from kova_auto.core.run import RunState, fold
from tests.postgres import PostgresServer

JOB = """
prompt = "Work."
workspace = "../work"
script = "slow.script.toml"
automation = "full"

[permissions]
sandbox = "off"
"""
SCRIPT = """
[[turns]]
text = "I begin."
[[turns.calls]]
tool = "bash"
args = { command = "echo began >> log; sleep 600; echo ended >> log" }

[[turns]]
text = "I go on."
[[turns.calls]]
tool = "bash"
args = { command = "echo second >> log" }

[[turns]]
text = "Done."
"""


def _prepare(base: Path) -> Path:
    for name in ("home", "work", "jobs", "settings"):
        (base / name).mkdir()
    (base / "jobs" / "slow.toml").write_text(JOB)
    (base / "jobs" / "slow.script.toml").write_text(SCRIPT)
    said = f'data_dir = "{base}/data"\njobs_dir = "{base}/jobs"\ndatabase = {{ env = "DATABASE" }}\n'
    (base / "settings" / "kova-auto.toml").write_text(said)
    return base / "jobs" / "slow.toml"


def _bodies(url: str) -> list[str]:
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.connect() as connection:
        rows = connection.exec_driver_sql("SELECT body FROM event ORDER BY seq").scalars().all()
    engine.dispose()
    return list(rows)


async def _worker(base: Path, url: str, job: Path, name: str) -> asyncio.subprocess.Process:
    argv = [sys.executable, "-m", "tests.crash.worker", str(base), url, str(job), name]
    return await asyncio.create_subprocess_exec(*argv, stdout=asyncio.subprocess.PIPE)


async def _has_begun(log: Path) -> None:
    deadline = time.monotonic() + 120
    while not await asyncio.to_thread(log.exists):
        assert time.monotonic() < deadline, "the first worker never began"
        await asyncio.sleep(0.02)


async def test_a_frozen_worker_that_wakes_writes_nothing(tmp_path: Path, postgres: PostgresServer) -> None:
    url, job = postgres.new_database(), _prepare(tmp_path)
    log = tmp_path / "work" / "log"
    first = await _worker(tmp_path, url, job, "first")
    await _has_begun(log)
    os.kill(first.pid, signal.SIGSTOP)
    try:
        second = await _worker(tmp_path, url, job, "second")
        said, _ = await second.communicate()
        before = _bodies(url)
    finally:
        os.kill(first.pid, signal.SIGCONT)
    woken, _ = await first.communicate()

    assert said.split()[-1] == b"done"
    assert woken.split() == [b"superseded"]
    assert _bodies(url) == before
    _check(fold(load(body) for body in before), log)
    assert [event.worker for event in map(load, before) if isinstance(event, RunAcquired)] == ["first", "second"]


def _check(state: RunState, log: Path) -> None:
    assert state.finished is not None
    assert state.finished.outcome == "done"
    results = [known.result.status for known in state.calls.values() if known.result]
    assert results == [ResultStatus.UNKNOWN, ResultStatus.OK]
    assert log.read_text().split() == ["began", "second"]
    assert [pid for pid in _leaders(state) if Path("/proc", str(pid)).exists()] == []


def _leaders(state: RunState) -> list[int]:
    return [known.process.pid for known in state.calls.values() if known.process]
