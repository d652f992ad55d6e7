"""A job whose runs take longer than its schedule leaves them is warned of, once a day."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from tests.scheduling.desks import Desk
from tests.support import at


@pytest.mark.parametrize(("took", "warned"), [("25", 1), ("9", 0)])
async def test_runs_that_lose_slots_are_warned_of_once_with_waiting_and_running_apart(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, took: str, warned: int
) -> None:
    desk = Desk(tmp_path)
    desk.write('prompt = "Look."\nschedule.cron = "*/10 * * * * *"\n')
    scheduler = desk.scheduler()
    desk.clock.instant = at("06:59:55")
    await scheduler.tick()
    for minute in range(5):
        desk.clock.instant = at(f"07:0{minute}:00")
        await scheduler.tick()
        (run_id,) = [row.run_id for row in await desk.journal.runs(unfinished=True)]
        desk.clock.instant += timedelta(seconds=2)
        await desk.begin(f"07:0{minute}:00")
        desk.clock.instant += timedelta(seconds=int(took))
        await desk.finish(f"07:0{minute}:00")
        assert run_id.endswith(f"T070{minute}00Z")
        await scheduler.tick()
        for row in await desk.journal.runs(unfinished=True):
            await desk.finish(f"{row.nominal_at:%H:%M:%S}")

    lines = [line for line in caplog.messages if "median" in line]
    assert len(lines) == warned
    assert all("25s (median of 3) after 2s of waiting, and it is due every 10s" in line for line in lines)
