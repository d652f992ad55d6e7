"""What one agent turn costs us, journal and verdicts included: run with `pytest -n0 -s -m bench`.

A turn is two streamed model requests and one `read`, against a model on loopback in another process. Processor time
is divided by that of a fixed workload; `peers/compare.py` sets it beside other runtimes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.bench

ROOT = Path(__file__).parents[2]
PROTOCOLS = ["openai-chat", "anthropic-messages", "openai-responses"]
HIGHEST_PER_CALIBRATION = 6.5
"""With `synchronous = "normal"`, for which it was set: what a disk takes for a commit is no cost of ours."""
HIGHEST_THOUSAND_S, HIGHEST_EACH_KB = 20.0, 45.0


def _module(name: str, *arguments: object) -> list[str]:
    return [sys.executable, "-m", f"tests.benchmarks.peers.{name}", *map(str, arguments)]


def _measured(port: int, protocol: str, turns: int, conc: int, synchronous: str = "full") -> dict[str, Any]:
    how = ("--port", port, "--protocol", protocol, "--synchronous", synchronous)
    command = _module("kova_peer", *how, "--turns", turns, "--conc", conc)
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    print(f"\n{done.stdout.strip()}")
    found: dict[str, Any] = json.loads(done.stdout)
    assert found.get("conc_ok") == (conc or None)
    return found


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_turn_costs_less_than_any_framework_takes_for_it(port: int, protocol: str) -> None:
    found = _measured(port, protocol, turns=200, conc=100, synchronous="normal")
    assert found["cpu_per_calib"] <= HIGHEST_PER_CALIBRATION


def test_a_thousand_turns_at_once_stay_small(port: int) -> None:
    found = _measured(port, PROTOCOLS[0], turns=20, conc=1000)

    assert found["conc_cpu_s"] <= HIGHEST_THOUSAND_S
    assert found["kb_per_turn"] <= HIGHEST_EACH_KB
