"""A success that was expected and did not come is noticed, once."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from kova_auto.core.job import Outcome
from tests.scheduling.desks import HOURLY, Desk, at_each
from tests.support import at

EXPECTED = HOURLY + 'policy.expect_within = "15m"\n'


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    directory = tmp_path / "jobs"
    directory.mkdir()
    desk = Desk(directory)
    desk.write(EXPECTED)
    return desk


async def late(desk: Desk) -> list[tuple[str, datetime | None]]:
    """Return which rows are late since when."""
    rows = reversed(await desk.journal.occurrences())
    return [(f"{row.nominal_at:%H:%M}", row.late_at) for row in rows]


@pytest.mark.parametrize("outcome", [None, Outcome.FAILED])
async def test_a_run_that_has_not_succeeded_in_time_is_late_and_that_is_said_once(
    desk: Desk, caplog: pytest.LogCaptureFixture, outcome: Outcome | None
) -> None:
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00")
    if outcome:
        await desk.finish("07:00:00", outcome=outcome)
    desk.clock.instant = at("07:10:00")
    assert await scheduler.tick() == at("07:15:00")
    await at_each(desk, scheduler, "07:15:00", "07:15:30", "07:30:00")

    assert await late(desk) == [("07:00", at("07:15:00"))]
    (line,) = [line for line in caplog.messages if "late" in line]
    assert line.startswith(
        "nightly is late: no success came by 2026-12-01T07:15:00+00:00 for 2026-12-01T07:00:00+00:00"
    )


async def test_a_run_that_succeeds_in_time_is_not_late_however_late_one_looks(desk: Desk) -> None:
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00")
    desk.clock.instant = at("07:14:59")
    await desk.finish("07:00:00")
    await at_each(desk, desk.scheduler(), "07:40:00")

    assert await late(desk) == [("07:00", None)]
    assert await desk.journal.expected() == []


async def test_an_instant_that_no_run_could_meet_is_late_too_but_not_one_that_was_let_go(desk: Desk) -> None:
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00", "08:00:00", "08:20:00")
    await desk.mark("08:30:00", paused=True)
    await at_each(desk, scheduler, "09:00:00", "09:30:00")

    assert await late(desk) == [("07:00", at("08:00:00")), ("08:00", at("08:20:00")), ("09:00", None)]
