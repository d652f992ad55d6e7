"""What becomes of an instant while an earlier run has not finished: the five rules, pass by pass."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from kova_auto.core.ids import RunId
from kova_auto.core.job import Outcome
from tests.scheduling.desks import HOURLY, Desk, at_each
from tests.support import at


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    directory = tmp_path / "jobs"
    directory.mkdir()
    return Desk(directory)


def policy(text: str) -> str:
    """Return an hourly job with a policy."""
    return f"{HOURLY}[policy]\n{text}\n"


async def stops(desk: Desk) -> list[str]:
    """Return the runs that were asked to stop."""
    states = [await desk.journal.load(RunId(run_id)) for run_id in await desk.runs()]
    return [f"{state.run_id} {state.stop.outcome}" for state in states if state.stop]


async def test_what_waits_begins_in_its_order_once_the_run_before_it_has_ended(desk: Desk) -> None:
    desk.write(policy('overlap = "queue"'))
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00", "08:00:00", "09:00:00", "09:30:00")
    assert await desk.rows() == ["07:00 ran", "08:00 pending", "09:00 pending"]
    assert len(await desk.runs()) == 1

    await desk.finish("07:00:00")
    await at_each(desk, scheduler, "09:30:01", "09:30:02")
    assert await desk.rows() == ["07:00 ran", "08:00 ran", "09:00 pending"]
    await desk.finish("08:00:00")
    await at_each(desk, desk.scheduler(), "09:40:00")
    assert await desk.rows() == ["07:00 ran", "08:00 ran", "09:00 ran"]
    (row, *_) = await desk.journal.occurrences()
    assert (row.due_at, row.settled_at, row.run_id) == (at("09:00:00"), at("09:40:00"), "nightly@20261201T090000Z")


async def test_a_queue_that_is_full_takes_no_more(desk: Desk) -> None:
    desk.write(policy('overlap = "queue"\nqueue_limit = 1'))
    await at_each(desk, desk.scheduler(), "06:30:00", "07:00:00", "08:00:00", "09:00:00")

    assert await desk.rows() == ["07:00 ran", "08:00 pending", "09:00 skipped (queue_full)"]


async def test_a_newer_instant_takes_the_one_place_there_is(desk: Desk) -> None:
    desk.write(policy('overlap = "buffer_one"'))
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00", "08:00:00", "09:00:00")
    assert await desk.rows() == ["07:00 ran", "08:00 skipped (replaced)", "09:00 pending"]

    await desk.finish("07:00:00")
    await at_each(desk, scheduler, "09:05:00")
    assert (await desk.rows())[-1] == "09:00 ran"


async def test_the_run_before_is_cancelled_and_the_next_begins_once_it_has_ended(desk: Desk) -> None:
    desk.write(policy('overlap = "cancel_previous"'))
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00")
    desk.clock.instant = at("08:00:00")
    assert await scheduler.tick() == at("08:00:30.000001")
    assert await stops(desk) == ["nightly@20261201T070000Z cancelled"]
    assert (desk.asked, await desk.rows()) == (["nightly@20261201T070000Z"], ["07:00 ran", "08:00 pending"])

    await desk.finish("07:00:00", outcome=Outcome.CANCELLED)
    await at_each(desk, scheduler, "08:00:02")
    assert await desk.rows() == ["07:00 ran", "08:00 ran"]
    assert await stops(desk) == ["nightly@20261201T070000Z cancelled"]


async def test_a_run_that_does_not_end_is_never_joined_by_a_second(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.write(policy('overlap = "cancel_previous"') + '[limits]\ncancel_grace = "10s"\n')
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00", "08:00:00", "08:00:09")
    assert (await desk.rows())[-1] == "08:00 pending"
    with caplog.at_level(logging.ERROR):
        await at_each(desk, scheduler, "08:00:10", "08:00:11")

    assert await desk.rows() == ["07:00 ran", "08:00 skipped (stuck)"]
    assert len(await desk.runs()) == 1
    (line,) = caplog.messages
    assert line.endswith("skipped (stuck)")


async def test_what_waits_longer_than_it_may_has_expired(desk: Desk) -> None:
    desk.write(policy('overlap = "queue"\nstart_deadline = "10m"'))
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00")
    await desk.begin("07:00:00")
    await at_each(desk, scheduler, "08:00:00", "08:10:00")
    assert (await desk.rows())[-1] == "08:00 pending"
    await at_each(desk, scheduler, "08:10:01")
    await desk.finish("07:00:00")
    await at_each(desk, scheduler, "08:10:02")

    assert await desk.rows() == ["07:00 ran", "08:00 missed (expired)"]


async def test_what_waits_for_a_schedule_that_was_edited_is_skipped_and_the_run_goes_on(desk: Desk) -> None:
    desk.write(policy('overlap = "queue"'))
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00", "08:00:00")
    desk.write(policy('overlap = "queue"').replace("0 *", "5 *"))
    await at_each(desk, scheduler, "08:01:00")

    assert await desk.rows() == ["07:00 ran", "08:00 skipped (changed)"]
    assert await stops(desk) == []


async def test_what_waits_keeps_its_place_when_only_the_prompt_is_edited(desk: Desk) -> None:
    desk.write(policy('overlap = "queue"'))
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00", "08:00:00")
    desk.write(policy('overlap = "queue"').replace("Look", "Look around"))
    await desk.finish("07:00:00")
    await at_each(desk, scheduler, "08:01:00")

    assert await desk.rows() == ["07:00 ran", "08:00 ran"]


async def test_what_waits_while_its_schedule_begins_to_rest_is_skipped(desk: Desk) -> None:
    desk.write(policy('overlap = "queue"'))
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00", "08:00:00")
    await desk.mark("08:10:00", paused=True)
    await desk.finish("07:00:00")
    await at_each(desk, scheduler, "08:11:00")

    assert await desk.rows() == ["07:00 ran", "08:00 skipped (paused)"]


async def test_several_runs_may_go_on_at_once_up_to_a_number(desk: Desk) -> None:
    desk.write(policy('overlap = "allow"\nmax_parallel = 2'))
    await at_each(desk, desk.scheduler(), "06:30:00", "07:00:00", "08:00:00", "09:00:00")

    assert await desk.rows() == ["07:00 ran", "08:00 ran", "09:00 skipped (overlap)"]


@pytest.mark.parametrize(
    ("overlap", "then"),
    [
        ("skip", ["07:00 ran", "08:00 skipped (overlap)", "09:00 skipped (overlap)"]),
        ("queue", ["07:00 ran", "08:00 pending", "09:00 pending"]),
        ("buffer_one", ["07:00 ran", "08:00 skipped (replaced)", "09:00 pending"]),
        ("cancel_previous", ["07:00 missed x2 (a later one runs)", "09:00 ran"]),
        ("allow", ["07:00 ran", "08:00 ran", "09:00 ran"]),
    ],
)
async def test_what_is_caught_up_with_meets_the_same_rule(desk: Desk, overlap: str, then: list[str]) -> None:
    desk.write(policy(f'overlap = "{overlap}"\nmissed = "all"'))
    await at_each(desk, desk.scheduler(), "06:30:00")
    await at_each(desk, desk.scheduler(), "09:30:00")

    assert await desk.rows() == then


async def test_one_hanging_run_of_three_hours_leaves_no_pile_behind(desk: Desk) -> None:
    every = HOURLY.replace("0 * * * *", "*/10 * * * *")
    clocks = [f"{hour:02}:{minute:02}:00" for hour in (7, 8, 9) for minute in range(0, 60, 10)]
    for name, rule in (("skips", 'overlap = "skip"'), ("queues", 'overlap = "queue"\nqueue_limit = 1')):
        desk.write(f"{every}[policy]\n{rule}\n", name=name)
    await at_each(desk, desk.scheduler(), "06:59:00", *clocks)

    assert await desk.rows("skips") == ["07:00 ran", *(f"{clock[:5]} skipped (overlap)" for clock in clocks[1:])]
    assert [row.split()[1] for row in await desk.rows("queues")] == ["ran", "pending", *["skipped"] * 16]
    assert len(await desk.runs()) == 2
