"""A database that goes away in the middle of a run, and comes back: nothing is lost, and nothing happens twice."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from kova_auto.app.driving import drive_one
from kova_auto.core.job import Outcome
from kova_auto.core.message import ResultStatus
from kova_auto.engine.dispatch import Advanced
from tests.app.houses import UNCONFINED, Home, id_of
from tests.postgres import PostgresServer

SCRIPT = """
[[turns]]
text = "I work."
[[turns.calls]]
tool = "bash"
args = { command = "echo began > began; cat goes-on > went; echo done >> log" }
[[turns.calls]]
tool = "bash"
args = { command = "echo again >> log" }
[[turns]]
text = "Done."
"""


async def test_a_tool_outlasts_an_outage_of_its_database(tmp_path: Path, postgres: PostgresServer) -> None:
    home = Home(tmp_path, {"DATABASE": postgres.new_database()})
    home.settings('database = { env = "DATABASE" }\n')
    home.job("work", UNCONFINED, SCRIPT)
    began, goes_on = home.workspace / "began", home.workspace / "goes-on"
    os.mkfifo(began)
    os.mkfifo(goes_on)
    async with home.house() as house:
        await house.control.request(home.ask("work"))
        driving = asyncio.create_task(drive_one(house, id_of("work"), asyncio.Event()))
        await asyncio.to_thread(began.read_bytes)
        await asyncio.to_thread(postgres.stop, "immediate")
        try:
            await asyncio.to_thread(goes_on.write_text, "so it does\n")
        finally:
            await asyncio.to_thread(postgres.start)
        assert await driving is Advanced.DONE
        state = await house.store.journal.load(id_of("work"))

    assert state.finished is not None
    assert (state.finished.outcome, state.finished.answer) == (Outcome.DONE, "Done.")
    assert [known.result.status for known in state.calls.values() if known.result] == [ResultStatus.OK] * 2
    assert (home.workspace / "log").read_text().split() == ["done", "again"]
    assert state.epoch == 1
