"""Instants that open no run: of a job that was paused, or that has spent what it may on that day."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from kova_auto.core.job import Outcome
from tests.scheduling.desks import HOURLY, Desk, at_each
from tests.support import at

AFTER_TWO = "policy.pause_after_failures = 2\n"


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


async def test_a_schedule_that_has_run_as_often_as_it_may_rests(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    desk.write(HOURLY + "policy.max_runs = 2\n")
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00")
    await desk.finish("07:00:00")
    await at_each(desk, scheduler, "08:00:00")
    (mark,) = await desk.journal.marks()
    assert (mark.paused, mark.by, mark.at) == (True, "service", at("08:00:00"))
    assert mark.reason == "it has run as often as it may (policy.max_runs = 2)"

    await desk.finish("08:00:00")
    await at_each(desk, scheduler, "09:00:00", "10:00:00")
    assert await desk.rows() == ["07:00 ran", "08:00 ran", "09:00 skipped (paused)", "10:00 skipped (paused)"]
    assert len([line for line in caplog.messages if "rests" in line]) == 1


@pytest.mark.parametrize(
    ("keys", "outcomes", "why"),
    [
        (
            "policy.pause_after_failures = 2\n",
            ["failed", "blocked"],
            "2 runs in a row have failed, the last one as blocked",
        ),
        ("policy.pause_after_failures = 2\n", ["failed", "done", "failed"], ""),
        ("policy.pause_after_failures = 2\n", ["failed", "cancelled"], ""),
        ("", ["failed"] * 6, ""),
        ("", ["timed_out"] * 4, ""),
        ("", ["timed_out"] * 5, "5 runs in a row have timed out, the last one as timed_out"),
    ],
)
async def test_a_schedule_whose_runs_fail_in_a_row_rests(
    desk: Desk, caplog: pytest.LogCaptureFixture, keys: str, outcomes: list[str], why: str
) -> None:
    desk.write(HOURLY + keys)
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00")
    for hour, outcome in enumerate(outcomes, 7):
        await at_each(desk, scheduler, f"{hour:02}:00:00")
        desk.clock.later(60)
        await desk.finish(f"{hour:02}:00:00", outcome=Outcome(outcome))
        desk.clock.later(1)
        await scheduler.tick()
        await scheduler.tick()

    marks = await desk.journal.marks()
    assert [mark.reason.partition(" (")[0] for mark in marks] == ([why] if why else [])
    assert len([line for line in caplog.messages if "rests" in line]) == len(marks)


async def test_whoever_lets_a_failing_schedule_go_on_begins_the_count_anew(desk: Desk) -> None:
    desk.write(HOURLY + "policy.pause_after_failures = 1\n")
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00")
    await desk.finish("07:00:00", outcome=Outcome.FAILED)
    await at_each(desk, scheduler, "07:10:00", "08:00:00")
    await desk.mark("08:10:00", paused=False)
    await at_each(desk, scheduler, "09:00:00")

    assert await desk.rows() == ["07:00 ran", "08:00 skipped (paused)", "09:00 ran"]


@pytest.mark.parametrize(
    ("missed", "then"),
    [
        ("latest", ["07:00 missed x2 (a later one runs)", "09:00 ran"]),
        ("all", ["07:00 ran", "08:00 ran", "09:00 ran"]),
        ("skip", ["07:00 missed x3 (policy.missed = skip)"]),
    ],
)
async def test_a_rest_is_caught_up_with_where_whoever_ended_it_asks_for_that(
    desk: Desk, missed: str, then: list[str]
) -> None:
    desk.write(f'{HOURLY}[policy]\nmissed = "{missed}"\noverlap = "allow"\nmax_parallel = 9\n')
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00")
    await desk.mark("06:31:00", paused=True)
    await at_each(desk, scheduler, "07:00:00", "08:00:00", "09:00:00")
    await desk.mark("09:30:00", paused=False, catch_up=True)
    await at_each(desk, scheduler, "09:30:01", "09:30:02", "10:00:00")

    assert await desk.rows() == [*then, "10:00 ran"]
    assert [mark.catch_up for mark in await desk.journal.marks()] == [False]


async def test_of_two_rests_the_last_one_is_caught_up_with(desk: Desk) -> None:
    desk.write(HOURLY + 'policy.overlap = "allow"\n')
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "05:30:00")
    await desk.mark("05:31:00", paused=True)
    await at_each(desk, scheduler, "06:00:00")
    await desk.mark("06:31:00", paused=False)
    await at_each(desk, scheduler, "07:00:00")
    await desk.mark("07:31:00", paused=True)
    await at_each(desk, scheduler, "08:00:00")
    await desk.mark("08:30:00", paused=False, catch_up=True)
    await at_each(desk, scheduler, "08:30:01")

    assert await desk.rows() == ["06:00 skipped (paused)", "07:00 ran", "08:00 ran"]


async def test_resuming_twice_within_a_second_opens_one_run(desk: Desk) -> None:
    desk.write()
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00")
    await desk.mark("06:31:00", paused=True)
    await at_each(desk, scheduler, *(f"{hour:02}:00:00" for hour in range(7, 17)))
    for second in ("16:30:00.100000", "16:30:00.600000"):
        await desk.mark(second, paused=False, catch_up=True)
        await at_each(desk, scheduler, second)

    assert await desk.rows() == ["07:00 missed x9 (a later one runs)", "16:00 ran"]
    assert len(await desk.runs()) == 1
