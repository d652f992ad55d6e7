"""The schedule kept pass by pass, on a ledger in memory and with a clock that is moved by hand.

`corner_cases.toml` says which corner cases and complaints are answered here, and which elsewhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from kova_auto.core.errors import JournalBusyError
from kova_auto.core.event import RunAcquired, RunFinished
from kova_auto.core.ids import JobName, RunId, run_id
from kova_auto.core.job import Outcome
from kova_auto.core.ledger import Occurrence
from kova_auto.core.schedule.triggers import occurrences
from kova_auto.scheduling.book import JobBook
from kova_auto.scheduling.jobfiles import load_jobs
from kova_auto.scheduling.triggers import trigger_of
from tests.doubles.clock import HandClock
from tests.doubles.journal import MemoryJournal
from tests.scheduling.desks import HALF_HOURLY, HOURLY, NIGHTLY, Desk, at_each
from tests.support import at


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    directory = tmp_path / "jobs"
    directory.mkdir()
    return Desk(directory)


async def test_a_new_job_begins_now_and_nothing_is_retroactive(desk: Desk) -> None:
    desk.write()

    assert await desk.scheduler().tick() == at("07:00:00")
    assert (await desk.runs(), await desk.rows(), desk.rung) == ([], [], 0)


async def test_a_due_instant_opens_exactly_one_run(desk: Desk) -> None:
    desk.write()
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "06:59:59", "07:00:00", "07:00:00", "07:00:30", "07:59:59")

    assert await desk.runs() == ["nightly@20261201T070000Z"]
    assert await desk.rows() == ["07:00 ran"]
    assert desk.rung == 1
    state = await desk.journal.load(RunId("nightly@20261201T070000Z"))
    assert (state.request.nominal_at, state.job.prompt) == (at("07:00:00"), "Look.")


async def test_a_pass_says_when_the_next_instant_of_any_job_is(desk: Desk) -> None:
    desk.write(name="hourly")
    desk.write(HALF_HOURLY, name="often")
    desk.write('prompt = "Look."\n', name="by-hand")
    scheduler = desk.scheduler()
    desk.clock.instant = at("06:10:00")

    assert await scheduler.tick() == at("06:30:00")
    desk.clock.instant = at("06:30:00")
    assert await scheduler.tick() == at("07:00:00")


async def test_no_schedule_means_no_next_instant(desk: Desk) -> None:
    desk.write('prompt = "Look."\n')

    assert await desk.scheduler().tick() is None


async def test_schedulers_that_share_a_ledger_never_double(desk: Desk) -> None:
    desk.write()
    schedulers = [desk.scheduler() for _ in range(5)]
    for clock in ("06:30:00", "07:00:00", "08:00:00", "09:00:01"):
        desk.clock.instant = at(clock)
        await asyncio.gather(*(scheduler.tick() for scheduler in schedulers))
        for opened in await desk.runs():
            state = await desk.journal.load(RunId(opened))
            if not state.finished:
                await desk.journal.append(state, RunFinished(at=at(clock), outcome=Outcome.DONE, answer="Well."))

    assert await desk.rows() == ["07:00 ran", "08:00 ran", "09:00 ran"]
    assert len(await desk.runs()) == desk.rung == 3


async def test_a_restart_catches_up_once_and_sums_up_the_rest(desk: Desk) -> None:
    desk.write()
    await at_each(desk, desk.scheduler(), "06:30:00", "07:00:00")
    await desk.finish("07:00:00")
    await at_each(desk, desk.scheduler(), "11:30:00", "11:30:01")

    assert await desk.rows() == ["07:00 ran", "08:00 missed x3 (a later one runs)", "11:00 ran"]


async def test_a_run_that_goes_on_skips_the_next_instant(desk: Desk) -> None:
    desk.write()
    await at_each(desk, desk.scheduler(), "06:30:00", "07:00:00", "08:00:00")
    await desk.finish("07:00:00")
    await at_each(desk, desk.scheduler(), "09:00:00")

    assert await desk.rows() == ["07:00 ran", "08:00 skipped (overlap)", "09:00 ran"]


async def test_an_edited_schedule_begins_now_and_an_edited_prompt_goes_on(desk: Desk) -> None:
    desk.write()
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00")
    desk.write(HOURLY.replace("Look", "Look around"))
    await at_each(desk, scheduler, "07:00:05")
    await desk.finish("07:00:00")
    desk.write(HALF_HOURLY)
    await at_each(desk, scheduler, "07:45:00", "08:00:00")

    assert await desk.rows() == ["07:00 ran", "08:00 ran"]
    assert (await desk.journal.load(run_id(NIGHTLY, at("07:00:00")))).job.prompt == "Look around."


@pytest.mark.parametrize("restarts", [False, True])
async def test_a_schedule_that_is_edited_back_begins_now_too(desk: Desk, restarts: bool) -> None:
    desk.write()
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:10:00")
    desk.write(HALF_HOURLY)
    scheduler = desk.scheduler() if restarts else scheduler
    await at_each(desk, scheduler, "06:11:00", "06:30:00", "07:00:00")
    await desk.finish("06:30:00")
    desk.write()
    scheduler = desk.scheduler() if restarts else scheduler
    await at_each(desk, scheduler, "07:10:00", "08:00:00")

    assert await desk.rows() == ["06:30 ran", "07:00 skipped (overlap)", "08:00 ran"]


async def test_a_job_that_breaks_as_nobody_foresaw_stops_no_other_and_is_tried_again(desk: Desk) -> None:
    desk.write(name="a")
    desk.write(name="b")
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00")
    desk.shattered = {"a"}
    await at_each(desk, scheduler, "07:00:00")
    assert (await desk.rows("a"), await desk.rows("b")) == ([], ["07:00 ran"])

    desk.shattered = set()
    await at_each(desk, scheduler, "07:00:30")
    assert await desk.rows("a") == ["07:00 ran"]


async def test_a_removed_file_stops_and_one_that_returns_begins_now(desk: Desk) -> None:
    desk.write()
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00")
    (desk.directory / "nightly.toml").unlink()
    await at_each(desk, scheduler, "07:00:00", "08:00:00")
    desk.write()
    await at_each(desk, scheduler, "08:30:00", "09:00:00")

    assert await desk.rows() == ["07:00 skipped (changed)", "09:00 ran"]


async def test_a_broken_file_keeps_its_last_good_version_and_stops_no_other(desk: Desk) -> None:
    desk.write()
    desk.write(name="other")
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00")
    desk.write('prompt = "Look."\nschedule.cron = "0 * * *"\n')
    await at_each(desk, scheduler, "07:00:00")

    assert (await desk.rows(), await desk.rows("other")) == (["07:00 ran"], ["07:00 ran"])


async def test_a_directory_that_cannot_be_read_keeps_the_jobs_that_are_known(desk: Desk) -> None:
    desk.write()
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00")
    desk.directory.rename(desk.directory.with_name("away"))
    await at_each(desk, scheduler, "07:00:00")

    assert await desk.rows() == ["07:00 ran"]


class BrokenBook(JobBook):
    """Fail as nobody foresaw, once it has read its files."""

    def refresh(self) -> bool:
        if self.jobs:
            raise ZeroDivisionError
        return super().refresh()


async def test_a_book_that_breaks_as_nobody_foresaw_keeps_the_jobs_that_are_known(desk: Desk) -> None:
    desk.write()
    scheduler = desk.scheduler(BrokenBook)
    await at_each(desk, scheduler, "06:30:00", "07:00:00")

    assert await desk.rows() == ["07:00 ran"]


async def test_a_job_that_cannot_be_opened_waits_and_stops_no_other(desk: Desk) -> None:
    desk.write(name="a")
    desk.write(name="b")
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00")
    desk.broken = {"a"}
    await at_each(desk, scheduler, "07:00:00")
    assert (await desk.rows("a"), await desk.rows("b")) == ([], ["07:00 ran"])

    desk.broken = set()
    await at_each(desk, scheduler, "07:00:20")
    assert await desk.rows("a") == ["07:00 ran"]


class BusyLedger(MemoryJournal):
    """Be busy for as long as it is told to."""

    busy = False

    async def cursor(self, job: JobName, schedule: str) -> datetime | None:
        if self.busy:
            message = "the database did not answer in time"
            raise JournalBusyError(message)
        return await super().cursor(job, schedule)


async def test_a_ledger_that_is_busy_at_the_first_pass_loses_no_instant(desk: Desk) -> None:
    desk.journal = ledger = BusyLedger()
    desk.write()
    await at_each(desk, desk.scheduler(), "06:30:00")
    again = desk.scheduler()
    ledger.busy = True
    desk.clock.instant = at("07:00:00")
    assert await again.tick() == at("07:00:15")
    ledger.busy = False
    await at_each(desk, again, "07:00:30")

    assert await desk.rows() == ["07:00 ran"]


class SlowLedger(MemoryJournal):
    """Let a minute go by whenever it is asked what is late, which is the end of a pass."""

    def __init__(self, clock: HandClock) -> None:
        super().__init__()
        self.clock = clock

    async def expected(self) -> Sequence[Occurrence]:
        self.clock.later(60)
        return await super().expected()


async def test_an_instant_that_comes_during_a_pass_is_the_next(desk: Desk) -> None:
    desk.journal = SlowLedger(desk.clock)
    desk.write(name="a")
    desk.write(name="b")
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00")
    desk.clock.instant = at("06:59:30")

    assert await scheduler.tick() == at("07:00:00")
    await scheduler.tick()
    assert await desk.rows("a") == ["07:00 ran"]


async def test_asking_what_is_next_moves_nothing(desk: Desk) -> None:
    desk.write()
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00")
    desk.clock.instant = at("07:00:00")
    before = await desk.journal.occurrences()
    for _ in range(3):
        ((job,), _) = load_jobs(desk.directory)
        trigger = trigger_of(job)
        assert trigger is not None
        assert list(occurrences(trigger, desk.clock.now(), at("08:00:00"), 9)) == [at("08:00:00")]
    assert await desk.journal.occurrences() == before == []

    await scheduler.tick()
    assert await desk.rows() == ["07:00 ran"]


async def test_a_clock_that_is_set_back_repeats_nothing(desk: Desk) -> None:
    desk.write()
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00")
    await desk.finish("07:00:00")
    await at_each(desk, scheduler, "06:55:00", "07:00:00", "07:30:00", "08:00:00")

    assert await desk.rows() == ["07:00 ran", "08:00 ran"]


async def test_a_clock_that_was_a_day_ahead_stops_no_schedule_once_it_is_right(desk: Desk) -> None:
    desk.write()
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00")
    desk.clock.later(timedelta(days=1).total_seconds())
    await scheduler.tick()
    (wrong,) = await desk.runs()
    state = await desk.journal.load(RunId(wrong))
    await desk.journal.append(state, RunFinished(at=at("06:31:00"), outcome=Outcome.DONE, answer="Well."))
    await at_each(desk, scheduler, "06:31:00", "07:00:00")
    assert (wrong, *await desk.runs()) == (
        "nightly@20261202T060000Z",
        "nightly@20261201T070000Z",
        "nightly@20261202T060000Z",
    )

    await desk.finish("07:00:00")
    desk.clock.instant = at("06:00:00") + timedelta(days=1)
    await scheduler.tick()
    desk.clock.later(3600)
    await scheduler.tick()
    assert (await desk.runs())[-1] == "nightly@20261202T070000Z"


async def test_a_run_that_is_suspended_stands_in_the_way_too(desk: Desk) -> None:
    desk.write()
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00")
    state = await desk.journal.load(run_id(NIGHTLY, at("07:00:00")))
    await desk.journal.append(state, RunAcquired(at=at("07:00:01"), epoch=1, worker="one"))
    await at_each(desk, scheduler, "08:00:00")

    assert await desk.rows() == ["07:00 ran", "08:00 skipped (overlap)"]


async def test_the_service_passes_whenever_the_alarm_rings_until_it_is_stopped(desk: Desk) -> None:
    desk.write()
    scheduler, alarm, stop = desk.scheduler(), Bell(), asyncio.Event()
    serving = asyncio.create_task(scheduler.serve(alarm, stop))
    for clock in ("06:30:00", "07:00:00"):
        await alarm.waited.wait()
        alarm.waited.clear()
        desk.clock.instant = at(clock)
        alarm.rang.set()
    await alarm.waited.wait()
    stop.set()
    alarm.rang.set()
    await serving

    assert alarm.set_for == [at("07:00:00"), at("07:00:00"), at("08:00:00")]
    assert await desk.rows() == ["07:00 ran"]


class Bell:
    """Be an alarm clock that a test rings."""

    def __init__(self) -> None:
        self.rang, self.waited = asyncio.Event(), asyncio.Event()
        self.set_for: list[datetime | None] = []

    def set(self, at: datetime | None, now: datetime) -> None:
        self.set_for.append(at)
        self.waited.set()
