"""Two jobs that write in one workspace, under one service: the second waits, says for whom, and goes on by itself."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

from kova_auto.app.house import House
from kova_auto.app.serving import serve
from kova_auto.core.ids import RunId
from kova_auto.core.job import Outcome
from kova_auto.core.state import RunState
from tests.app.houses import UNCONFINED, Home, id_of

WAITS = """
[[turns]]
[[turns.calls]]
tool = "bash"
args = { command = "read -r line < go; echo first >> log" }
[[turns]]
text = "Done."
"""
WRITES = """
[[turns]]
[[turns.calls]]
tool = "bash"
args = { command = "echo second >> log" }
[[turns]]
text = "Done."
"""
FIRST, SECOND = id_of("first"), id_of("second")


async def until(house: House, run_id: RunId, is_so: Callable[[RunState], object]) -> RunState:
    """Follow a run until something is so of it."""
    seq = 0
    while True:
        placed = await house.control.events(run_id, seq, 5)
        seq = placed[-1].seq if placed else seq
        state = await house.store.journal.load(run_id)
        if is_so(state):
            return state


async def test_the_second_waits_for_the_first_and_both_end_done(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.job("first", UNCONFINED, WAITS)
    home.job("second", UNCONFINED, WRITES)
    os.mkfifo(home.workspace / "go")
    async with home.house() as house, asyncio.timeout(60):
        stop = asyncio.Event()
        serving = asyncio.create_task(serve(house, stop))
        await house.control.request(home.ask("first"))
        await until(house, FIRST, lambda state: any(call.process for call in state.calls.values()))
        await house.control.request(home.ask("second"))
        waiting = await until(house, SECOND, lambda state: state.awaited)
        waits = waiting.awaited
        assert waits
        assert (waits.holder, waits.job, waiting.epoch) == (FIRST, "first", 0)
        row = await house.control.find(SECOND)
        assert (row.waits_for, row.execution, row.resting) == (FIRST, "queued", True)

        (home.workspace / "go").write_text("go\n")
        states = [await until(house, run_id, lambda state: state.finished) for run_id in (FIRST, SECOND)]
        stop.set()
        await serving
    assert [state.finished.outcome for state in states if state.finished] == [Outcome.DONE, Outcome.DONE]
    assert (home.workspace / "log").read_text() == "first\nsecond\n"
