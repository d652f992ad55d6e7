"""Instants that open no run: of a job that was paused, or that has spent what it may on that day."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from tests.scheduling.desks import HOURLY, Desk, at_each
from tests.support import at


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    directory = tmp_path / "jobs"
    directory.mkdir()
    return Desk(directory)


async def test_a_paused_job_skips_its_instants_until_it_is_resumed(desk: Desk) -> None:
    desk.write()
    desk.write(name="other")
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00")
    await desk.mark("06:31:00", paused=True)
    await at_each(desk, scheduler, "07:00:00", "08:00:00")
    await desk.mark("08:30:00", paused=False)
    await at_each(desk, scheduler, "09:00:00")

    assert await desk.rows() == ["07:00 skipped (paused)", "08:00 skipped (paused)", "09:00 ran"]
    assert (await desk.rows("other"))[0] == "07:00 ran"


async def test_a_job_that_was_paused_while_nobody_served_has_one_row_for_all_that(desk: Desk) -> None:
    desk.write()
    await at_each(desk, desk.scheduler(), "06:30:00")
    await desk.mark("06:31:00", paused=True)
    await at_each(desk, desk.scheduler(), "11:30:00", "12:00:00")

    assert await desk.rows() == ["07:00 skipped x5 (paused)", "12:00 skipped (paused)"]
    (_, first) = await desk.journal.occurrences()
    assert (first.until_at, await desk.runs()) == (at("11:00:00"), [])


async def test_a_run_whose_end_lets_its_job_rest_is_the_last_until_somebody_says_so(desk: Desk) -> None:
    desk.write()
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00")
    desk.clock.instant = at("07:05:00")
    await desk.finish("07:00:00", pauses="the key was refused")
    await at_each(desk, scheduler, "08:00:00", "09:00:00")
    await desk.mark("09:05:00", paused=False)
    await at_each(desk, scheduler, "10:00:00")

    assert await desk.rows() == ["07:00 ran", "08:00 skipped (paused)", "09:00 skipped (paused)", "10:00 ran"]


async def test_a_job_that_has_spent_its_day_skips_what_is_left_of_it(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.write(HOURLY + "[limits]\ncost_usd_per_day = 2.0\n")
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00")
    desk.spent = {"nightly": 2.01}
    with caplog.at_level(logging.INFO, "kova_auto.scheduling.claiming"):
        await at_each(desk, scheduler, "07:00:00", "07:00:30")
    desk.spent = {"nightly": 1.99}
    await at_each(desk, scheduler, "08:00:00")

    assert await desk.rows() == ["07:00 skipped (budget)", "08:00 ran"]
    (line,) = caplog.messages
    assert line.endswith(": skipped (budget: 2.0100 USD were spent today (limits.cost_usd_per_day = 2))")
