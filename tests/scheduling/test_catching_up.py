"""After a long silence jobs catch up gently, the oldest first, and what is punctual waits for nobody."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from kova_auto.scheduling.catching_up import CatchUp
from tests.scheduling.desks import HOURLY, Desk, at_each
from tests.support import at

NAMES = ("a", "b", "c", "d")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    directory = tmp_path / "jobs"
    directory.mkdir()
    return Desk(directory, catch_up=CatchUp(at_once=2, spacing=timedelta(seconds=15)))


async def _silence(desk: Desk, *names: str) -> None:
    """Have jobs that were seen at six, and then nothing until a quarter past nine."""
    for number, name in enumerate(names):
        desk.write(HOURLY.replace("0 *", f"{number} *"), name=name)
    await at_each(desk, desk.scheduler(), "06:30:00")


async def _ran(desk: Desk) -> list[str]:
    return [run.partition("@")[0] for run in await desk.runs()]


async def test_jobs_begin_one_after_the_other_the_oldest_instant_first(desk: Desk) -> None:
    await _silence(desk, "b", "a")
    scheduler = desk.scheduler()
    desk.clock.instant = at("09:15:00")
    assert await scheduler.tick() == at("09:15:15")
    assert await _ran(desk) == ["b"]
    await at_each(desk, scheduler, "09:15:14")
    assert await _ran(desk) == ["b"]
    desk.clock.instant = at("09:15:15")
    assert await scheduler.tick() == at("10:00:00")
    assert sorted(await _ran(desk)) == ["a", "b"]
    assert await desk.rows("a") == ["07:01 missed x2 (a later one runs)", "09:01 ran"]


async def test_further_jobs_wait_until_those_that_catch_up_have_ended(desk: Desk) -> None:
    await _silence(desk, *NAMES)
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "09:15:00", "09:15:15", "09:15:30", "09:16:30")
    assert sorted(await _ran(desk)) == ["a", "b"]

    await desk.finish("09:00:00", "a")
    desk.clock.instant = at("09:17:00")
    assert await scheduler.tick() == at("09:17:15")
    assert sorted(await _ran(desk)) == ["a", "b", "c"]
    await desk.finish("09:01:00", "b")
    await at_each(desk, scheduler, "09:17:15")
    assert sorted(await _ran(desk)) == ["a", "b", "c", "d"]


async def test_what_is_punctual_waits_for_nobody_and_settles_what_waited(desk: Desk) -> None:
    await _silence(desk, *NAMES)
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "09:59:30", "09:59:45", "10:00:00", "10:03:00")

    assert await desk.rows("d") == ["07:03 missed x3 (a later one runs)", "10:03 ran"]
    assert await desk.rows("a") == ["07:00 missed x2 (a later one runs)", "09:00 ran", "10:00 skipped (overlap)"]


async def test_a_clock_that_is_set_back_shuts_no_gate(desk: Desk) -> None:
    await _silence(desk, "a", "b")
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "09:15:00", "08:50:00")

    assert sorted(await _ran(desk)) == ["a", "b"]


async def test_a_job_that_cannot_be_opened_lets_the_others_catch_up(desk: Desk) -> None:
    await _silence(desk, "a", "b")
    desk.broken = {"a"}
    await at_each(desk, desk.scheduler(), "09:15:00")

    assert await _ran(desk) == ["b"]
