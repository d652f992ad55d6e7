"""How much longer than Python itself the commands take that people type most: medians of one sequence, by turns."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.bench

JOB = Path(__file__).parents[2] / "jobs" / "repo-digest.toml"
ROUNDS = 15


def _seconds(argv: list[str], home: Path) -> float:
    began = time.perf_counter()
    done = subprocess.run(argv, env={"HOME": str(home), "PATH": "/usr/bin:/bin"}, capture_output=True, check=False)
    took = time.perf_counter() - began
    assert done.returncode == 0, done.stderr.decode()
    return took


def test_help_and_check_start_fast_and_listings_answer_within_a_second(tmp_path: Path) -> None:
    program = shutil.which("kova-auto", path=str(Path(sys.executable).parent))
    assert program is not None, "install the project into this environment first"
    subprocess.run([program, "init"], env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}, cwd=tmp_path, check=True)
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "kova-auto --help": [program, "--help"],
        "jobs check": [program, "jobs", "check", str(JOB)],
        "jobs list": [program, "jobs", "list"],
        "runs list": [program, "runs", "list"],
        "deliveries list": [program, "deliveries", "list"],
    }
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, argv in commands.items():
            taken[name].append(_seconds(argv, tmp_path))
    bare = statistics.median(taken["python -c pass"])
    for name, values in taken.items():
        median = statistics.median(values)
        more_ms = (median - bare) * 1000
        print(f"{name:20} median {median * 1000:6.0f} ms, +{more_ms:5.0f} ms, {median / bare:5.1f} x python")
