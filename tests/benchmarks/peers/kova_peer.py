"""Measure our own turn as the peers' script measures theirs, and print one line of JSON with the same keys.

    python -m tests.benchmarks.peers.kova_peer --port P [--protocol openai-chat] [--turns N] [--conc C]
                                              [--synchronous full]

Processor time of each turn is divided by that of a fixed workload taken right after it: the host's clock drifts.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.benchmarks.peers.service import Service

Turn = Callable[[], Awaitable[str]]
_DOC = {"messages": [{"role": "user", "content": "x" * 200, "n": list(range(20))}] * 10}


def calibrate(rounds: int = 20) -> float:
    """Return the processor seconds of the fixed workload."""
    begun = time.process_time()
    for _ in range(rounds):
        json.loads(json.dumps(_DOC))
    return time.process_time() - begun


def _rss_mb() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def one_by_one(turn: Turn, turns: int) -> dict[str, float]:
    """Measure turns one after another."""
    walls, cpus, calibrations = [], [], []
    for _ in range(turns):
        wall, cpu = time.perf_counter(), time.process_time()
        await turn()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
        calibrations.append(calibrate())
    each = (cpu / calibration for cpu, calibration in zip(cpus, calibrations, strict=True))
    return {
        "wall_ms_med": round(statistics.median(walls) * 1e3, 2),
        "wall_ms_p95": round(sorted(walls)[int(0.95 * len(walls)) - 1] * 1e3, 2),
        "cpu_ms_med": round(statistics.median(cpus) * 1e3, 2),
        "cpu_ms_min": round(min(cpus) * 1e3, 2),
        "calib_ms": round(statistics.median(calibrations) * 1e3, 2),
        "cpu_per_calib": round(statistics.median(each), 2),
    }


async def at_once(turn: Turn, count: int, base_mb: float) -> dict[str, float | str | None]:
    """Measure turns that all begin at the same moment."""
    wall, cpu = time.perf_counter(), time.process_time()
    answers = await asyncio.gather(*(turn() for _ in range(count)), return_exceptions=True)
    taken, used = time.perf_counter() - wall, time.process_time() - cpu
    wrong = [answer for answer in answers if not isinstance(answer, str)]
    return {
        "conc": count,
        "conc_ok": sum(isinstance(answer, str) and bool(answer.strip()) for answer in answers),
        "conc_wall_s": round(taken, 2),
        "conc_cpu_s": round(used, 2),
        "peak_rss_mb": round(_peak_mb(), 1),
        "kb_per_turn": round((_peak_mb() - base_mb) * 1024 / count, 1),
        "first_error": repr(wrong[0])[:200] if wrong else None,
    }


async def measure(place: Path, given: argparse.Namespace) -> dict[str, object]:
    """Measure one service."""
    turns, conc = given.turns, given.conc
    async with Service(place, given.port, given.protocol, given.synchronous) as service:
        made = time.process_time()
        calibrate(100)
        answers = [await service.turn() for _ in range(5)]
        gc.collect()
        base_mb = _rss_mb()
        found = await one_by_one(service.turn, turns)
        crowd = await at_once(service.turn, conc, base_mb) if conc else {}
    load = round(os.getloadavg()[0], 2)
    first = {
        "peer": f"kova-{given.protocol}",
        "synchronous": given.synchronous,
        "turns": turns,
        "start_cpu_s": round(made, 2),
        "rss_mb": round(base_mb, 1),
    }
    return {**first, **found, "load1": load, "final": answers[-1][:30], **crowd}


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(description="Measure our own turn.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--protocol", default="openai-chat")
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--conc", type=int, default=0)
    parser.add_argument("--synchronous", choices=("full", "normal"), default="full")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kova-peer-") as directory:
        place = Path(directory).resolve()
        print(json.dumps(asyncio.run(measure(place, given))), flush=True)


if __name__ == "__main__":
    main()
