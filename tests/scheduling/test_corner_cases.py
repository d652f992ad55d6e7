"""Corner cases of the schedule that are at home nowhere else; `corner_cases.toml` says where each of them is tested."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from kova_auto.core.event import Origin
from kova_auto.core.ids import JobName, RunId
from kova_auto.core.job import Outcome
from tests.scheduling.desks import HOURLY, NIGHTLY, Desk, at_each
from tests.support import a_job, a_request, at


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    directory = tmp_path / "jobs"
    directory.mkdir()
    return Desk(directory)


def scheduled(table: str, more: str = "") -> str:
    """Return a job with a `[schedule]`, and further tables."""
    return f'prompt = "Look."\n{more}[schedule]\n{table}\n'


async def versions(desk: Desk) -> list[str]:
    """Return when each schedule that the job had began."""
    return [f"{version.begun_at:%H:%M:%S}" for version in await desk.journal.versions(NIGHTLY)]


@pytest.mark.parametrize("start", ["2026-12-01T03:00:00Z", "2026-11-01"])
async def test_a_start_in_the_past_fills_nothing_in(desk: Desk, start: str) -> None:
    desk.write(scheduled(f'cron = "0 * * * *"\nstart = "{start}"', 'policy.missed = "all"\n'))
    scheduler = desk.scheduler()
    assert await scheduler.tick() == at("07:00:00")
    await at_each(desk, scheduler, "06:30:00", "07:00:00")

    assert await desk.rows() == ["07:00 ran"]


async def test_a_start_to_come_is_included_and_an_end_is_not(desk: Desk) -> None:
    desk.write(scheduled('cron = "0 * * * *"\nstart = "2026-12-01T08:00:00Z"\nend = "2026-12-01T10:00:00Z"'))
    scheduler = desk.scheduler()
    for clock in ("07:00:00", "08:00:00", "09:00:00", "10:00:00", "11:00:00"):
        await at_each(desk, scheduler, clock)
        if clock in ("08:00:00", "09:00:00"):
            await desk.finish(clock)

    assert await desk.rows() == ["08:00 ran", "09:00 ran"]


EDITS = [
    'cron = "5 * * * *"',
    'every = "1h"',
    'at = "2026-12-01T09:00:00Z"',
    'on = "startup"',
    'after = [{ job = "other" }]',
    'cron = "0 * * * *"\ntimezone = "Asia/Kolkata"',
    'every = "1h"\nanchor = "2026-01-01T00:00:00Z"',
    'cron = "0 * * * *"\nstart = "2026-01-01"',
    'cron = "0 * * * *"\nend = "2027-01-01"',
    'cron = "0 * * * *"\nexclude = { weekdays = ["SAT"] }',
    'cron = "0 * * * *"\njitter = "5m"',
]


@pytest.mark.parametrize("edited", EDITS, ids=lambda edited: edited.rpartition("\n")[2].partition(" ")[0])
async def test_an_edit_of_any_key_of_the_schedule_begins_it_anew(desk: Desk, edited: str) -> None:
    desk.write(name="other")
    desk.write(scheduled('cron = "0 * * * *"', 'policy.overlap = "queue"\n'))
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00", "08:00:00")
    desk.write(scheduled(edited, 'policy.overlap = "queue"\n'))
    await at_each(desk, scheduler, "08:30:00", "08:30:01")

    assert await versions(desk) == ["06:30:00", "08:30:00"]
    (standing,) = [one for one in await desk.journal.standings() if one.job == NIGHTLY]
    assert standing.cursor == at("08:30:00")
    assert await desk.rows() == ["07:00 ran", "08:00 skipped (changed)"]
    state = await desk.journal.load(RunId("nightly@20261201T070000Z"))
    assert (state.finished, state.stop) == (None, None)


@pytest.mark.parametrize(
    "edited",
    [
        'prompt = "Look around."\nschedule.cron = "0 * * * *"\npolicy.overlap = "queue"\n',
        HOURLY + 'policy = { overlap = "queue", missed = "skip" }\n',
        HOURLY + 'policy.overlap = "queue"\nlimits.timeout = "5m"\n',
    ],
)
async def test_an_edit_of_anything_else_moves_no_cursor(desk: Desk, edited: str) -> None:
    desk.write(HOURLY + 'policy.overlap = "queue"\n')
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00", "08:00:00")
    desk.write(edited)
    await at_each(desk, scheduler, "08:30:00")

    assert await versions(desk) == ["06:30:00"]
    assert await desk.rows() == ["07:00 ran", "08:00 pending"]


async def test_excluded_instants_are_rows_and_use_up_no_run(desk: Desk) -> None:
    table = 'cron = "0 * * * *"\nexclude = { hours = ["07:00-09:00"] }'
    desk.write(scheduled(table, "policy.max_runs = 1\n"))
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00", "08:00:00", "09:00:00")
    await desk.finish("09:00:00")
    await at_each(desk, scheduler, "10:00:00")

    assert await desk.rows() == [
        "07:00 skipped (excluded: hours 07:00-09:00)",
        "08:00 skipped (excluded: hours 07:00-09:00)",
        "09:00 ran",
        "10:00 skipped (paused)",
    ]


async def test_an_instant_that_is_missed_by_more_than_its_window_is_shown_and_never_fired_again(desk: Desk) -> None:
    desk.write(scheduled('at = ["2026-12-01T07:00:00Z"]'))
    await at_each(desk, desk.scheduler(), "06:30:00")
    for clock in ("08:00:01", "08:10:00", "20:00:00"):
        await at_each(desk, desk.scheduler(), clock)

    assert (await desk.rows(), await desk.runs()) == (["07:00 missed (outside_window)"], [])


async def test_a_single_instant_whose_run_failed_stays_failed(desk: Desk) -> None:
    desk.write(scheduled('at = ["2026-12-01T07:00:00Z"]'))
    await at_each(desk, desk.scheduler(), "06:30:00", "07:00:00")
    await desk.finish("07:00:00", outcome=Outcome.FAILED)
    for clock in ("07:10:00", "07:40:00", "20:00:00"):
        await at_each(desk, desk.scheduler(), clock)

    assert (await desk.rows(), await desk.runs()) == (["07:00 ran"], ["nightly@20261201T070000Z"])


@pytest.mark.parametrize(
    ("written", "due"),
    [
        ("2026-03-29T02:30", "2026-03-29T01:00+00:00"),  # There is no 02:30 in Berlin.
        ("2026-10-25T02:30", "2026-10-25T00:30+00:00"),  # There are two.
    ],
)
async def test_a_single_instant_in_a_gap_moves_to_its_end_and_a_repeated_one_is_the_first(
    desk: Desk, written: str, due: str
) -> None:
    desk.write(scheduled(f'at = "{written}"\ntimezone = "Europe/Berlin"'))
    desk.clock.instant = datetime.fromisoformat(due) - timedelta(hours=5)
    scheduler = desk.scheduler()
    assert await scheduler.tick() == datetime.fromisoformat(due)


async def test_a_run_by_hand_moves_no_cursor_and_stands_in_the_way_of_the_next_instant(desk: Desk) -> None:
    desk.write()
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00")
    before = await desk.journal.standings()
    job = a_job("nightly", schedule={"cron": "0 * * * *"})
    by_hand = a_request(
        "nightly+20261201T064000Z-1", job=job, at=at("06:40:00"), nominal_at=None, origin=Origin.REQUEST
    )
    await desk.journal.open(by_hand)
    assert await desk.journal.standings() == before
    await at_each(desk, scheduler, "07:00:00")

    assert await desk.rows() == ["07:00 skipped (overlap)"]
    assert await desk.runs() == ["nightly+20261201T064000Z-1"]


async def test_a_run_by_hand_of_a_paused_job_leaves_it_paused_and_counts_for_no_maximum(desk: Desk) -> None:
    desk.write(HOURLY + "policy.max_runs = 1\n")
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00")
    await desk.mark("06:31:00", paused=True)
    job = a_job("nightly", schedule={"cron": "0 * * * *"})
    run = RunId("nightly+20261201T064000Z-1")
    await desk.journal.open(a_request(run, job=job, at=at("06:40:00"), nominal_at=None, origin=Origin.REQUEST))
    await at_each(desk, scheduler, "07:00:00")
    assert await desk.rows() == ["07:00 skipped (paused)"]

    (mark,) = await desk.journal.marks()
    assert mark.paused
    await desk.mark("07:30:00", paused=False)
    assert await desk.journal.ran(NIGHTLY) == 0


async def test_a_delay_is_the_same_after_a_restart_and_the_row_keeps_the_instant_itself(desk: Desk) -> None:
    desk.write(scheduled('cron = "0 * * * *"\njitter = "10m"'))
    due = await desk.scheduler().tick()
    assert due is not None
    assert at("07:00:00") < due < at("07:10:00")
    desk.clock.instant = at("07:00:00")
    scheduler = desk.scheduler()
    assert await scheduler.tick() == due
    assert await desk.rows() == []
    desk.clock.instant = due
    await scheduler.tick()

    (row,) = await desk.journal.occurrences(NIGHTLY)
    assert (row.nominal_at, row.due_at, row.lateness) == (at("07:00:00"), due, timedelta(0))
    assert await desk.runs() == ["nightly@20261201T070000Z"]


async def test_a_job_without_a_schedule_has_no_rows_and_one_that_loses_it_stops(desk: Desk) -> None:
    desk.write()
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00")
    desk.write('prompt = "Look."\n')
    await at_each(desk, scheduler, "06:40:00", "07:00:00", "08:00:00")

    assert (await desk.rows(), await desk.runs()) == ([], [])
    assert JobName("nightly") in {one.job for one in await desk.journal.standings()}
