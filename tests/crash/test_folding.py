"""A run whose older iterations are folded time and again, in processes that are killed: it ends as if none had been."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from kova_auto.core.event import ContextCompacted
from kova_auto.core.job import Outcome
from tests.crash.counting import ANSWER
from tests.engine.long_runs import LongRun
from tests.engine.tellers import Counter
from tests.support import ROOT

DEATHS = 8


def _life(place: Path, life: int, kill_at: int) -> int:
    """Return how one process ended."""
    command = [sys.executable, "-m", "tests.crash.counting", str(place), str(life), str(kill_at)]
    return subprocess.run(command, cwd=ROOT, timeout=300, check=False).returncode


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
async def test_processes_that_are_killed_leave_a_folded_run_to_the_next(tmp_path: Path, seed: int) -> None:
    chance = Random(seed)
    for life in range(DEATHS):
        assert _life(tmp_path, life, chance.randint(5, 70)) == -signal.SIGKILL
    assert _life(tmp_path, DEATHS, 0) == 0

    run = LongRun(tmp_path / "journal.db", Counter(window=1))
    state, facts = await run.state(), await run.facts()
    await run.close()
    assert state.finished is not None
    assert (state.finished.outcome, state.finished.answer) == (Outcome.DONE, ANSWER)
    assert state.iteration == 121
    folded = [fact.through for fact in facts if isinstance(fact, ContextCompacted)]
    assert len(folded) >= 4
    assert folded == sorted({*folded})
