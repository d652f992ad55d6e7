"""A hundred runs at once in one process: how long they take together, and what each costs in memory."""

from __future__ import annotations

import asyncio
import resource
import time
from pathlib import Path

import pytest

from kova_auto.app.control import RunAsk
from kova_auto.app.house import build
from kova_auto.engine.backends.embedded import Embedded
from kova_auto.settings.load import load_settings
from tests.support import ALONE, at

pytestmark = pytest.mark.bench

RUNS = 100
JOB = """
prompt = "Work."
workspace = "../work"
script = "look.script.toml"
"""
SCRIPT = """
[[turns]]
text = "First I look."
[[turns.calls]]
id = "a"
tool = "read"
args = { file_path = "a.txt" }
[[turns.calls]]
tool = "grep"
args = { pattern = "one", path = "." }

[[turns]]
text = "Then again."
[[turns.calls]]
tool = "glob"
args = { pattern = "*" }

[[turns]]
text = "Done: {{ results.a.line_count }} lines."
"""


def _rss_kib() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


async def _together(base: Path, count: int) -> tuple[float, float, int]:
    """Return wall and processor seconds, and the growth of the resident memory at its highest, in KiB."""
    environ = {"HOME": str(base), "PATH": "/usr/bin:/bin", **ALONE}
    settings = load_settings(base / "kova-auto.toml", environ)
    house = await build(settings, environ)
    stop, before, peak = asyncio.Event(), _rss_kib(), 0
    wall, cpu = time.perf_counter(), time.process_time()
    for number in range(count):
        await house.control.request(
            RunAsk(job=str(base / "jobs" / "look.toml"), key=f"{number:03}", asked_at=at("06:00:00"))
        )
    serving = asyncio.create_task(
        Embedded(house.store.views, house.clock, house.bells).serve(house.engine.advance, slots=count, stop=stop)
    )
    while await house.store.views.runs(unfinished=True, limit=1):
        peak = max(peak, _rss_kib())
        await asyncio.sleep(0.02)
    taken = time.perf_counter() - wall, time.process_time() - cpu
    stop.set()
    await serving
    rows = await house.store.views.runs(limit=count)
    assert [row.outcome for row in rows] == ["done"] * count
    await house.close()
    return *taken, peak - before


def _place(base: Path) -> Path:
    (base / "work").mkdir(parents=True)
    (base / "work" / "a.txt").write_text("one\ntwo\n")
    (base / "jobs").mkdir()
    (base / "jobs" / "look.toml").write_text(JOB)
    (base / "jobs" / "look.script.toml").write_text(SCRIPT)
    (base / "kova-auto.toml").write_text(f'data_dir = "{base}/data"\njobs_dir = "{base}/jobs"\n')
    return base


async def test_a_hundred_runs_at_once(tmp_path: Path) -> None:
    await _together(_place(tmp_path / "warm"), 1)
    one = await _together(_place(tmp_path / "one"), 1)
    many = await _together(_place(tmp_path / "many"), RUNS)
    print(f"1 run:    {one[0]:6.2f} s wall, {one[1]:6.2f} s CPU")
    print(f"{RUNS} runs: {many[0]:6.2f} s wall, {many[1]:6.2f} s CPU, {many[2] / RUNS:.0f} KiB each")
    print(f"CPU of {RUNS} ÷ CPU of 1: {many[1] / one[1]:.1f}")
