"""One service does very many runs, with all that belongs to a run, and is afterwards as light as it was."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.soak.service import expected, served
from tests.soak.weighing import CAN_WEIGH, Weight
from tests.support import ROOT

pytestmark = pytest.mark.skipif(not CAN_WEIGH, reason="this machine does not say what a process has open")

BATCH, BATCHES = 100, 21
GROWTH_MB = 50
OPENED_LATE = 12
"""Descriptors of the connections that are opened when several first read at once: four, of three files each."""
BEGUN_LATE = 6
"""Threads of asyncio's own, which it begins one by one."""


async def test_a_service_keeps_nothing_of_a_run_that_has_ended(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        first = await service.does(20)
        last = await service.does(30)
        assert await service.came_of() == expected(20) + expected(30)
        assert await service.told() == len(set(service.receiver.ids)) == 50

    assert last.descriptors <= first.descriptors + OPENED_LATE
    assert last.threads <= first.threads + BEGUN_LATE
    assert last.states <= first.states


@pytest.mark.slow
def test_two_thousand_runs_leave_memory_descriptors_and_threads_as_they_were(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.soak.service", str(tmp_path), str(BATCHES), str(BATCH)]
    ran = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    said = json.loads(ran.stdout)
    assert said["came_of"] == expected(BATCHES * BATCH)
    assert said["told"] == said["heard_of"] == BATCHES * BATCH

    first, *later = [Weight(**weight) for weight in said["weights"]]
    print("\n" + "\n".join(map(str, [first, *later])))
    assert later[-1].resident_mb < first.resident_mb + GROWTH_MB
    assert max(weight.descriptors for weight in later) <= first.descriptors + OPENED_LATE
    assert max(weight.threads for weight in later) <= first.threads + BEGUN_LATE
    assert max(weight.states for weight in later) <= first.states
