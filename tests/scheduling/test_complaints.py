"""What went wrong with the timing of other schedulers, as users told it; `corner_cases.toml` names the reports."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from itertools import pairwise, permutations
from pathlib import Path
from random import Random

import pytest

from kova_auto.core.event import RunFinished
from kova_auto.core.ids import JobName
from kova_auto.core.job import Outcome
from kova_auto.scheduling.jobfiles import load_jobs
from kova_auto.scheduling.scheduler import Scheduler
from kova_auto.scheduling.triggers import timetable_of
from tests.scheduling.desks import HOURLY, NIGHTLY, Desk, at_each
from tests.support import at

DAY = timedelta(days=1)
MINUTELY = HOURLY.replace("0 *", "* *")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    directory = tmp_path / "jobs"
    directory.mkdir()
    return Desk(directory)


def scheduled(table: str, more: str = "") -> str:
    """Return a job with a `[schedule]`, and further keys."""
    return f'prompt = "Look."\n{more}[schedule]\n{table}\n'


def utc(text: str) -> datetime:
    return datetime.fromisoformat(f"{text}+00:00")


async def passes(desk: Desk, scheduler: Scheduler, *instants: datetime) -> datetime | None:
    """Make a pass at each of these instants, and let every run end well; return what the last one says is next."""
    next_at = None
    for instant in instants:
        desk.clock.later((instant - desk.clock.instant).total_seconds())
        next_at = await scheduler.tick()
        for run in await desk.journal.runs(unfinished=True, limit=1000):
            end = RunFinished(at=instant, outcome=Outcome.DONE, answer="Well.")
            await desk.journal.append(await desk.journal.load(run.run_id), end)
    return next_at


async def found(desk: Desk, name: str = "nightly") -> list[str]:
    """Return the rows with their days, oldest first."""
    rows = await desk.journal.occurrences(JobName(name), limit=1000)
    words = [f"{row.nominal_at:%m-%d %H:%M} {row.status}" + (f" x{row.count}" if row.count > 1 else "") for row in rows]
    return [word + (f" ({row.why})" if row.why else "") for word, row in zip(words, rows, strict=True)][::-1]


async def test_three_nights_asleep_are_one_run_and_a_row_for_the_others(desk: Desk) -> None:
    desk.write(scheduled('cron = "0 4 * * *"'))
    await passes(desk, desk.scheduler(), utc("2026-12-01T05:00"))
    next_at = await passes(desk, desk.scheduler(), utc("2026-12-04T07:00"))

    assert await found(desk) == ["12-02 04:00 missed x2 (a later one runs)", "12-04 04:00 ran"]
    assert (await desk.runs(), next_at) == (["nightly@20261204T040000Z"], utc("2026-12-05T04:00"))


@pytest.mark.parametrize("missed", ["skip", "latest", "all"])
async def test_a_restart_of_a_minute_costs_no_day(desk: Desk, missed: str) -> None:
    desk.write(scheduled('cron = "30 8 * * *"', f'policy = {{ missed = "{missed}", start_deadline = "5m" }}\n'))
    await at_each(desk, desk.scheduler(), "08:29:47")
    await at_each(desk, desk.scheduler(), "08:31:05")

    (row,) = await desk.journal.occurrences(NIGHTLY)
    assert (row.status, row.lateness) == ("ran", timedelta(seconds=65))


async def test_what_is_outside_its_window_is_not_replayed(desk: Desk) -> None:
    desk.write(scheduled('cron = "0-24/6 11 * * *"', 'policy.missed_window = "30m"\n'))
    await at_each(desk, desk.scheduler(), "10:00:00")
    await at_each(desk, desk.scheduler(), "22:10:00")

    assert (await desk.rows(), await desk.runs()) == (["11:00 missed x5 (outside_window)"], [])


async def test_a_run_that_restarts_its_service_is_opened_once_over_any_number_of_restarts(desk: Desk) -> None:
    desk.write()
    await at_each(desk, desk.scheduler(), "06:30:00")
    for minute in range(20):
        await at_each(desk, desk.scheduler(), f"07:{10 + minute}:00")

    assert (await desk.rows(), await desk.runs()) == (["07:00 ran"], ["nightly@20261201T070000Z"])


async def test_a_single_instant_and_a_recurring_one_that_were_missed_follow_their_policies(desk: Desk) -> None:
    desk.write(scheduled('at = "2026-12-01T07:00:00Z"'), name="once")
    desk.write(HOURLY, name="recurring")
    desk.write(scheduled('cron = "0 * * * *"', 'policy.missed = "skip"\n'), name="strict")
    await at_each(desk, desk.scheduler(), "06:30:00")
    await at_each(desk, desk.scheduler(), "07:30:00", "07:30:15", "07:30:30")

    assert await desk.rows("once") == await desk.rows("recurring") == ["07:00 ran"]
    assert await desk.rows("strict") == ["07:00 missed (policy.missed = skip)"]


@pytest.mark.parametrize("off_ms", [0, -1, 1, 999])
async def test_a_pass_on_the_boundary_fires_once(desk: Desk, off_ms: int) -> None:
    desk.write()
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00")
    for instant in (at("07:00:00") + timedelta(milliseconds=off_ms), at("07:00:01"), at("07:00:02")):
        desk.clock.instant = instant
        await scheduler.tick()

    assert await desk.rows() == ["07:00 ran"]


async def test_a_job_that_is_four_hundred_days_away_fires_on_its_day(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    day = at("06:00:00") + 400 * DAY
    desk.write(scheduled(f'at = "{day:%Y-%m-%dT%H:%M:%SZ}"'))
    scheduler = desk.scheduler()
    with caplog.at_level(logging.WARNING):
        assert await passes(desk, scheduler, at("06:00:00"), at("06:00:00") + 399 * DAY) == day
    assert (caplog.messages, await desk.runs()) == ([], [])

    assert await passes(desk, scheduler, day) is None
    assert len(await desk.runs()) == 1


@pytest.mark.parametrize("hour", [6, 7, 12, 17, 23])
async def test_a_restart_after_todays_run_waits_for_tomorrows(desk: Desk, hour: int) -> None:
    desk.write(scheduled('cron = "0 6 * * *"'))
    await passes(desk, desk.scheduler(), utc("2026-12-01T05:00"), utc("2026-12-01T06:00"))
    next_at = await passes(desk, desk.scheduler(), utc(f"2026-12-01T{hour:02}:20"))

    assert (next_at, await found(desk)) == (utc("2026-12-02T06:00"), ["12-01 06:00 ran"])


async def test_after_a_long_run_the_next_instant_lies_ahead(desk: Desk) -> None:
    desk.write(scheduled('cron = "0 3 * * *"'))
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "02:00:00", "03:00:00")
    desk.clock.instant = at("06:01:00")
    await desk.finish("03:00:00")

    assert await scheduler.tick() == utc("2026-12-02T03:00")


@pytest.mark.parametrize(
    ("window", "rows"), [("7d", ["11-30 19:00 ran"]), ("24h", ["11-30 19:00 missed (outside_window)"])]
)
async def test_a_weekly_job_catches_up_with_its_own_day_or_not_at_all(desk: Desk, window: str, rows: list[str]) -> None:
    desk.write(scheduled('cron = "0 19 * * 1"', f'policy.missed_window = "{window}"\n'))
    await passes(desk, desk.scheduler(), utc("2026-11-29T12:00"))
    await passes(desk, desk.scheduler(), utc("2026-12-04T12:00"))  # A Friday.

    assert await found(desk) == rows


async def test_an_hourly_job_keeps_to_the_hour_whenever_the_service_started(desk: Desk) -> None:
    desk.write()
    for clock in ("06:17:23", "07:41:07", "08:59:59"):
        hour = int(clock[:2]) + 1
        scheduler = desk.scheduler()
        assert await passes(desk, scheduler, at(clock)) == at(f"{hour:02}:00:00")
        await passes(desk, scheduler, at(f"{hour:02}:00:00"))

    assert await desk.rows() == ["07:00 ran", "08:00 ran", "09:00 ran"]


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.TIMED_OUT, Outcome.BLOCKED])
async def test_a_day_that_failed_costs_the_next_nothing(desk: Desk, outcome: Outcome) -> None:
    desk.write()
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00")
    await desk.finish("07:00:00", outcome=outcome)
    await at_each(desk, scheduler, "08:00:00")

    assert await desk.rows() == ["07:00 ran", "08:00 ran"]


async def test_a_daily_job_runs_once_a_day_in_its_own_zone(desk: Desk) -> None:
    desk.write(scheduled('cron = "0 9 * * *"\ntimezone = "Europe/Vienna"'))
    begun = utc("2026-12-01T07:30")
    await passes(desk, desk.scheduler(), *(begun + timedelta(minutes=30) * half for half in range(2 * 24 * 14)))

    assert await found(desk) == [f"12-{day:02} 08:00 ran" for day in range(1, 15)]


@pytest.mark.parametrize(("change", "hours"), [("2026-03-08", [14, 13, 13]), ("2026-11-01", [13, 14, 14])])
async def test_the_hour_stays_over_a_change_of_clocks_and_an_interval_takes_its_time(
    desk: Desk, change: str, hours: list[int]
) -> None:
    desk.write(scheduled('cron = "0 9 * * *"\ntimezone = "America/Toronto"'))
    desk.write(scheduled('every = "2h"\ntimezone = "America/Toronto"'), name="often")
    begun = utc(f"{change}T00:00") - DAY
    desk.clock.instant = begun
    await passes(desk, desk.scheduler(), *(begun + timedelta(hours=hour) for hour in range(72)))

    rows = await desk.journal.occurrences(NIGHTLY)
    assert [(row.nominal_at.hour, row.status) for row in reversed(rows)] == [(hour, "ran") for hour in hours]
    often = await desk.journal.occurrences(JobName("often"), limit=1000)
    assert {later.nominal_at - earlier.nominal_at for later, earlier in pairwise(often)} == {timedelta(hours=2)}


async def test_a_schedule_that_was_edited_fifty_times_is_where_a_fresh_one_would_be(desk: Desk) -> None:
    dice, scheduler, now = Random(37), desk.scheduler(), at("06:00:00")
    for edit in range(50):
        hour, minute, step = dice.randrange(24), dice.randrange(60), dice.choice([2, 3, 4, 6])
        grid = f'every = "{step}h{edit}m"\nanchor = "2026-01-01T00:00:00Z"'
        table = dice.choice([f'cron = "{minute} {hour} * * *"', f'cron = "{minute} */{step} * * *"', grid])
        desk.write(scheduled(table))
        now += timedelta(seconds=dice.randrange(1, 30_000))
        next_at = await passes(desk, scheduler, now)
        ((job,), _) = load_jobs(desk.directory)
        fresh = timetable_of(job, now)
        assert fresh is not None
        assert next_at == fresh.next_nominal(now)


EVERY_KIND = {
    "hourly": 'cron = "0 * * * *"',
    "three-hourly": 'cron = "0 */3 * * *"',
    "interval": 'every = "90m"',
    "once": 'at = "2026-12-01T15:00:00Z"',
}


@pytest.mark.parametrize(("old", "new"), [*permutations(EVERY_KIND, 2)])
async def test_a_schedule_of_any_kind_that_becomes_another_fires_at_its_first_instant(
    desk: Desk, old: str, new: str
) -> None:
    desk.write(scheduled(EVERY_KIND[old]))
    scheduler = desk.scheduler()
    await passes(desk, scheduler, *(at(f"{hour:02}:00:00") for hour in range(6, 12)))
    before = await desk.rows()
    desk.write(scheduled(EVERY_KIND[new]))
    first = await passes(desk, scheduler, at("11:10:00"))
    assert first is not None
    await passes(desk, scheduler, first)

    assert await desk.rows() == [*before, f"{first:%H:%M} ran"]


@pytest.mark.parametrize(("missed", "row"), [("latest", "ran"), ("skip", "missed (policy.missed = skip)")])
async def test_a_missed_instant_of_a_long_interval_waits_for_no_further_period(
    desk: Desk, missed: str, row: str
) -> None:
    anchor = at("06:00:00")
    table = f'every = "180d"\nanchor = "{anchor:%Y-%m-%dT%H:%M:%SZ}"'
    desk.write(scheduled(table, f'policy.missed = "{missed}"\n'))
    await passes(desk, desk.scheduler(), anchor + DAY)
    next_at = await passes(desk, desk.scheduler(), anchor + 180 * DAY + timedelta(hours=5))

    assert await found(desk) == [f"05-30 06:00 {row}"]
    assert next_at == anchor + 360 * DAY


async def test_an_interval_keeps_its_grid_over_three_days_of_restarts(desk: Desk) -> None:
    desk.write(scheduled('every = "45m"'))
    dice, scheduler = Random(144), desk.scheduler()
    next_at = await passes(desk, scheduler, at("06:00:00"))
    while next_at is not None and next_at < at("06:00:00") + 3 * DAY:
        late = next_at + timedelta(seconds=dice.uniform(0, 59))
        scheduler = desk.scheduler() if dice.random() < 0.3 else scheduler
        next_at = await passes(desk, scheduler, late)

    rows = await desk.journal.occurrences(NIGHTLY, limit=1000)
    assert {later.nominal_at - earlier.nominal_at for later, earlier in pairwise(rows)} == {timedelta(minutes=45)}
    assert ({row.status.value for row in rows}, len(rows)) == ({"ran"}, 95)


async def test_a_run_longer_than_its_interval_leaves_a_row_for_every_slot_that_it_costs(desk: Desk) -> None:
    desk.write(scheduled('every = "10s"'))
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:00:00", "06:00:10", "06:00:20", "06:00:30")
    desk.clock.instant = at("06:00:35")
    await desk.finish("06:00:10")
    await at_each(desk, scheduler, "06:00:40")

    rows = [f"{row.nominal_at:%S} {row.status} {row.why}".strip() for row in await desk.journal.occurrences(NIGHTLY)]
    assert rows[::-1] == ["10 ran", "20 skipped overlap", "30 skipped overlap", "40 ran"]


async def test_eight_hours_asleep_are_one_run_of_a_job_of_every_minute(desk: Desk) -> None:
    desk.write(MINUTELY)
    scheduler = desk.scheduler()
    await passes(desk, scheduler, at("06:00:00"))
    desk.clock.jumps(8 * 3600)
    await scheduler.tick()

    assert await desk.rows() == ["06:01 missed x479 (a later one runs)", "14:00 ran"]


async def test_what_never_ran_is_not_missed_by_a_new_installation(desk: Desk) -> None:
    for number in range(5):
        desk.write(HOURLY.replace("0 *", f"{number} *"), name=f"job-{number}")
    await at_each(desk, desk.scheduler(), "06:30:00", "06:30:30")

    assert (await desk.journal.occurrences(), await desk.runs()) == ([], [])


async def test_a_machine_that_slept_between_an_instant_and_its_delayed_start_runs_it_on_waking(desk: Desk) -> None:
    desk.write(scheduled('cron = "0 7 * * *"\njitter = "30m"'))
    scheduler = desk.scheduler()
    due = await scheduler.tick()
    assert due is not None
    assert due > at("07:00:00")
    await at_each(desk, scheduler, "07:00:00")
    desk.clock.jumps(3600)
    await scheduler.tick()

    (row,) = await desk.journal.occurrences(NIGHTLY)
    assert (row.nominal_at, row.due_at, row.settled_at, row.status) == (at("07:00:00"), due, at("08:00:00"), "ran")


async def test_a_cursor_that_an_older_version_left_is_caught_up_with_once(desk: Desk) -> None:
    """That version wrote no versions of schedules; the zone of the job is not the one that cursors are in."""
    desk.write(scheduled('cron = "0 9 * * *"\ntimezone = "Europe/Brussels"'))
    seen = desk.scheduler()
    await passes(desk, seen, utc("2026-11-30T05:00"))
    (standing,) = await desk.journal.standings()
    assert await desk.journal.claim(NIGHTLY, standing.schedule, was=standing.cursor, cursor=utc("2026-12-01T07:59:00"))
    for _ in range(3):
        await passes(desk, desk.scheduler(), utc("2026-12-01T10:00"))

    assert await found(desk) == ["12-01 08:00 ran"]
